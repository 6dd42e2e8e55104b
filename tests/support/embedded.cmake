# Kernels of tests and workloads become parts of programs when these are built.

# haltrace_embed(TARGET FILE NAME): FILE's bytes as the array NAME in gen/.../FILE.h.
function(haltrace_embed target file name)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(header ${PROJECT_BINARY_DIR}/gen/${folder}/${file}.h)
    set(script ${PROJECT_SOURCE_DIR}/tests/workloads/embed.cmake)
    add_custom_command(OUTPUT ${header}
        COMMAND ${CMAKE_COMMAND} -D INPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file} -D OUTPUT=${header}
            -D NAME=${name} -P ${script}
        DEPENDS ${file} ${script} VERBATIM)
    target_sources(${target} PRIVATE ${header})
endfunction()

# SPIR-V modules are made of our own GLSL.
find_program(HALTRACE_GLSLANG glslangValidator DOC "GLSL to SPIR-V, for tests")

# haltrace_spirv_modules(TARGET FILE): each CASE_name in FILE as the array spv_name in
# gen/.../FILE.h.
function(haltrace_spirv_modules target file)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(header ${PROJECT_BINARY_DIR}/gen/${folder}/${file}.h)
    set(script ${PROJECT_SOURCE_DIR}/tests/support/spirv_modules.cmake)
    add_custom_command(OUTPUT ${header}
        COMMAND ${CMAKE_COMMAND} -D GLSLANG=${HALTRACE_GLSLANG}
            -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${file} -D OUTPUT=${header} -P ${script}
        DEPENDS ${file} ${script} VERBATIM)
    target_sources(${target} PRIVATE ${header})
endfunction()

# haltrace_spirv_kernels(TARGET FILE NAME DEFINITION): each KERNEL_name in FILE as an entry point of one
# module, the array NAME in gen/.../FILE.h; DEFINITION is 1 for the target's sources where this can
# be made.
find_program(HALTRACE_SPIRV_LINK spirv-link DOC "links SPIR-V modules, for tests")
function(haltrace_spirv_kernels target file name definition)
    if(NOT HALTRACE_GLSLANG OR NOT HALTRACE_SPIRV_LINK)
        message(STATUS "no glslangValidator or spirv-link: ${target} has no kernels in SPIR-V")
        return()
    endif()
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    set(header ${PROJECT_BINARY_DIR}/gen/${folder}/${file}.h)
    set(script ${PROJECT_SOURCE_DIR}/tests/support/spirv_link.cmake)
    add_custom_command(OUTPUT ${header}
        COMMAND ${CMAKE_COMMAND} -D GLSLANG=${HALTRACE_GLSLANG} -D LINK=${HALTRACE_SPIRV_LINK}
            -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${file} -D NAME=${name} -D OUTPUT=${header}
            -P ${script}
        DEPENDS ${file} ${script} VERBATIM)
    target_sources(${target} PRIVATE ${header})
    target_compile_definitions(${target} PRIVATE ${definition}=1)
endfunction()
