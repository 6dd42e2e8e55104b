# What is installed, and where: programs, libraries with what others need to build against them,
# the modules and helpers that these load, documents; `uninstall`; and the packages.

set(libraries hal hal_base)
set(programs "")
set(modules "")
set(helpers "")
if(HALTRACE_TOOLS)
    set(programs hal-capture hal-replay hal-trace hal-view)
    set(modules hal_capture)
endif()
foreach(target hal-msl-cc hal-spirv-cc)
    if(TARGET ${target})
        list(APPEND helpers ${target})
    endif()
endforeach()
if(TARGET hal_vulkan)
    list(APPEND modules hal_vulkan)
endif()
if(HAL_METAL STREQUAL "system") # the other one is for tests
    list(APPEND modules hal_metal)
endif()

set(folders ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR}/cmake
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_LIBEXECDIR} ${CMAKE_INSTALL_MANDIR}/man1
    ${CMAKE_INSTALL_DOCDIR} ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(CODE "set(HALTRACE_FOLDERS \"${folders}\")")
install(SCRIPT hal/install/installing.cmake) # before anything has been

install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${libraries} EXPORT haltrace LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${modules} LIBRARY DESTINATION ${HALTRACE_INSTALL_MODULES})
install(TARGETS ${helpers} RUNTIME DESTINATION ${HALTRACE_INSTALL_HELPERS})
foreach(header ${HAL_HEADERS})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES hal/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hal/${folder})
    if(HALTRACE_TOOLS) # the documents point to them
        install(FILES hal/${header} DESTINATION ${CMAKE_INSTALL_DOCDIR}/hal/${folder})
    endif()
endforeach()
foreach(program ${programs})
    install(FILES docs/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(HALTRACE_TOOLS)
    install(FILES format/trace.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/haltrace)
    # Documents lie to each other as they do here, so that their links lead somewhere.
    install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
    install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
    install(DIRECTORY tests/workloads/decode
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/workloads FILES_MATCHING PATTERN "*.[ch]"
        PATTERN "*.metal" PATTERN "*.comp")
endif()

# ---- Completion of command lines ------------------------------------------------------------------

# Made from what the programs say about themselves. Where another machine's programs are built,
# they cannot be asked.
if(HALTRACE_TOOLS AND NOT CMAKE_CROSSCOMPILING)
    set(made "")
    foreach(program ${programs})
        foreach(shell bash zsh fish)
            set(file ${PROJECT_BINARY_DIR}/gen/completion/${shell}/${program})
            add_custom_command(OUTPUT ${file}
                COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/gen/completion/${shell}
                COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hal/install/completion.sh ${shell}
                        $<TARGET_FILE:${program}> ${file}
                DEPENDS ${program} hal/install/completion.sh hal/install/completion.awk VERBATIM)
            list(APPEND made ${file})
        endforeach()
        set(folder ${PROJECT_BINARY_DIR}/gen/completion)
        install(FILES ${folder}/bash/${program}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${folder}/zsh/${program} RENAME _${program}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
        install(FILES ${folder}/fish/${program} RENAME ${program}.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    endforeach()
    add_custom_target(completion ALL DEPENDS ${made})
endif()

# ---- For those who link it ------------------------------------------------------------------------

# libhal.a: one object with everything, in which only the public functions have names for others.
set(static_packages libcrypto)
set(static_libraries -lpthread -ldl -lm)
if(NOT APPLE)
    set(parts hal hal_base hal_msl hal_spirv hal_kernels)
    if(HALTRACE_TOOLS) # the capture, which then is there without a module
        list(APPEND static_packages libzstd libprotobuf-c libxxhash libunwind)
        list(APPEND parts hal_capture_parts haltrace haltrace_schema)
    endif()
    if(TARGET hal_vulkan)
        list(APPEND parts hal_vulkan)
    endif()
    set(objects "")
    foreach(part ${parts})
        list(APPEND objects $<TARGET_OBJECTS:${part}>)
    endforeach()
    set(folder ${PROJECT_BINARY_DIR}/lib/static)
    set(symbols ${PROJECT_BINARY_DIR}/gen/hal/hal.exports.symbols
        ${PROJECT_BINARY_DIR}/gen/hal/hal_base.exports.symbols)
    list(TRANSFORM symbols PREPEND --keep-global-symbols= OUTPUT_VARIABLE keep)
    add_custom_command(OUTPUT ${folder}/libhal.a
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${folder}/libhal.a
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${folder}/hal.o ${objects}
        COMMAND ${CMAKE_OBJCOPY} ${keep} ${folder}/hal.o
        COMMAND ${CMAKE_AR} rcD ${folder}/libhal.a ${folder}/hal.o
        COMMAND ${CMAKE_COMMAND} -E rm -f ${folder}/hal.o
        DEPENDS ${objects} ${symbols} COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(hal_static ALL DEPENDS ${folder}/libhal.a)
    install(FILES ${folder}/libhal.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/haltrace)
list(JOIN static_packages " " static_packages)
list(JOIN static_libraries " " static_libraries)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE relative_prefix)
configure_file(hal/install/haltrace.pc.in gen/haltrace.pc @ONLY)
configure_file(hal/install/haltrace-static.pc.in gen/haltrace-static.pc @ONLY)
configure_package_config_file(hal/install/haltrace-config.cmake.in
    ${PROJECT_BINARY_DIR}/gen/haltrace-config.cmake INSTALL_DESTINATION ${package}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gen/haltrace-config-version.cmake
    COMPATIBILITY SameMinorVersion)
set_target_properties(hal_base PROPERTIES EXPORT_NAME halbase)
install(EXPORT haltrace NAMESPACE haltrace:: FILE haltrace-targets.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/gen/haltrace-config.cmake
    ${PROJECT_BINARY_DIR}/gen/haltrace-config-version.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/gen/haltrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET hal_static)
    install(FILES ${PROJECT_BINARY_DIR}/gen/haltrace-static.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DLISTS=${PROJECT_BINARY_DIR}/installed
            -P ${CMAKE_CURRENT_SOURCE_DIR}/hal/install/uninstall.cmake VERBATIM)

# ---- Packages -------------------------------------------------------------------------------------

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
set(CPACK_PACKAGE_NAME haltrace)
set(CPACK_PACKAGE_VENDOR "haltrace")
set(CPACK_PACKAGE_CONTACT "haltrace developers <haltrace@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "capture, replay, verify and view GPU compute work")
set(CPACK_PACKAGE_DESCRIPTION
    "Captures what a program asks of a GPU at a hardware abstraction layer into one small file, replays that file on Metal, Vulkan or a CPU, verifies that the same bytes come out, and shows in the terminal where the time went.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME haltrace-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# Kernels are compiled when they are used.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "clang-16 | clang-17 | clang-18 | clang-19")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "mesa-vulkan-drivers, libprotobuf-c-dev, libzstd-dev, libxxhash-dev, libssl-dev, libunwind-dev")
include(CPack)
