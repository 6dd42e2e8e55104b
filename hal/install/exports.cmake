# Writes what libhal or libhalbase exports, for the linker: the functions of the public headers in a
# version of their own, which programs are linked against, and what drivers and layers share with
# them in one that changes with every release.
# Beside it, in OUTPUT.symbols, the public ones alone, one per line.
#   cmake -DPUBLIC="a.h;b.h" -DNAME=HAL_0 -DPRIVATE=HAL_PRIVATE_0.1.0 -DOUTPUT=file -P exports.cmake
set(names "")
foreach(header IN LISTS PUBLIC)
    file(READ ${header} text)
    string(REGEX MATCHALL "HAL_API[^(;]*[ *]hal_[a-z0-9_]+\\(" declarations "${text}")
    foreach(declaration IN LISTS declarations)
        string(REGEX REPLACE ".*[ *](hal_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
        list(APPEND names ${name})
    endforeach()
endforeach()
list(SORT names)
list(JOIN names "\n" symbols)
file(WRITE ${OUTPUT}.symbols "${symbols}\n")
list(JOIN names ";\n        " lines)
file(WRITE ${OUTPUT} "${NAME} {\n    global:\n        ${lines};\n};\n"
    "${PRIVATE} {\n    global:\n        hal_*;\n    local:\n        *;\n};\n")
