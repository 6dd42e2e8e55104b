# cmake -D GLSLANG= -D SOURCE=x.comp -D OUTPUT=x.h -P spirv_modules.cmake
# Compiles each CASE_name of a GLSL source to SPIR-V and writes them all as arrays spv_name.
file(READ ${SOURCE} text)
string(REGEX MATCHALL "CASE_[a-z0-9_]+" cases "${text}")
list(REMOVE_DUPLICATES cases)
get_filename_component(folder ${OUTPUT} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
file(WRITE ${OUTPUT}.new "/* Generated from ${SOURCE}. */\n#include <stdint.h>\n")
foreach(case IN LISTS cases)
    string(REPLACE CASE_ spv_ name ${case})
    execute_process(
        COMMAND ${GLSLANG} -V --quiet --target-env vulkan1.2 -D${case} --vn ${name}
            -o ${OUTPUT}.part ${SOURCE}
        RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(failed)
        message(FATAL_ERROR "${case}: ${output}")
    endif()
    file(READ ${OUTPUT}.part part)
    string(REPLACE "#pragma once" "" part "${part}")
    string(REPLACE "const uint32_t" "static const uint32_t" part "${part}")
    file(APPEND ${OUTPUT}.new "${part}")
endforeach()
file(REMOVE ${OUTPUT}.part)
file(RENAME ${OUTPUT}.new ${OUTPUT})
