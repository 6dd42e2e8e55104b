# cmake -D GLSLANG= -D LINK= -D SOURCE=x.comp -D NAME=array -D OUTPUT=x.h -P spirv_link.cmake
# Compiles each KERNEL_name of a GLSL source to an entry point of that name, and links all of them
# into one module, as an array of words.
file(READ ${SOURCE} text)
string(REGEX MATCHALL "defined\\(KERNEL_[a-z0-9_]+" found "${text}")
get_filename_component(folder ${OUTPUT} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
get_filename_component(TOOLS ${LINK} DIRECTORY)
foreach(kernel IN LISTS found)
    string(REPLACE "defined(KERNEL_" "" name ${kernel})
    execute_process(
        COMMAND ${GLSLANG} -V --quiet --target-env vulkan1.2 -DKERNEL_${name} -e ${name}
            --source-entrypoint main -o ${OUTPUT}.${name}.spv ${SOURCE}
        RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(failed)
        message(FATAL_ERROR "${name}: ${output}")
    endif()
    # The workgroup size is an execution mode, too; as a decoration it would be that of them all.
    execute_process(COMMAND ${TOOLS}/spirv-dis --raw-id ${OUTPUT}.${name}.spv
        OUTPUT_VARIABLE assembly COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "OpDecorate %[0-9]+ BuiltIn WorkgroupSize" "" assembly "${assembly}")
    file(WRITE ${OUTPUT}.${name}.spvasm "${assembly}")
    execute_process(COMMAND ${TOOLS}/spirv-as --target-env vulkan1.2 -o ${OUTPUT}.${name}.spv
        ${OUTPUT}.${name}.spvasm COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${OUTPUT}.${name}.spvasm)
    list(APPEND modules ${OUTPUT}.${name}.spv)
endforeach()
execute_process(COMMAND ${LINK} --target-env vulkan1.2 -o ${OUTPUT}.spv ${modules}
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
    message(FATAL_ERROR "${output}")
endif()
file(READ ${OUTPUT}.spv bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Generated from ${SOURCE}. */\nstatic const unsigned char ${NAME}[] = {${bytes}};\n")
file(REMOVE ${modules} ${OUTPUT}.spv)
