# Objective-C where it is not part of the system: clang compiles it against the headers and the
# library of gcc's runtime. Included at the top, because a language belongs to the whole project.
find_program(HALTRACE_OBJC_COMPILER NAMES clang-16 clang-17 clang-18 clang-19 clang clang-14
    DOC "clang, for the Metal driver on the host Metal")
find_program(HALTRACE_GCC NAMES gcc gcc-12 gcc-13 gcc-14 DOC "gcc, to find its Objective-C runtime")
set(objc_headers missing)
if(HALTRACE_GCC)
    execute_process(COMMAND ${HALTRACE_GCC} -print-file-name=include/objc
        OUTPUT_VARIABLE objc_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${HALTRACE_GCC} -print-file-name=libobjc.so
        OUTPUT_VARIABLE HALTRACE_LIBOBJC OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT HALTRACE_OBJC_COMPILER OR NOT EXISTS ${objc_headers}/objc.h)
    message(FATAL_ERROR "HAL_METAL=host needs clang and gcc's Objective-C runtime: run "
        "./bootstrap deps (Debian: libobjc-12-dev), or build without Metal: -DHAL_METAL=off")
endif()

# Its folder alone: beside it lie headers of gcc that would hide clang's.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/objc_include)
file(CREATE_LINK ${objc_headers} ${PROJECT_BINARY_DIR}/objc_include/objc SYMBOLIC)

if(NOT CMAKE_OBJC_COMPILER)
    set(CMAKE_OBJC_COMPILER ${HALTRACE_OBJC_COMPILER})
endif()
foreach(type DEBUG RELEASE) # as the presets set them for C
    set(CMAKE_OBJC_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}" CACHE STRING "as for C")
endforeach()
enable_language(OBJC)
set(CMAKE_OBJC_VISIBILITY_PRESET hidden)
