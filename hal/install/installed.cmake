# Run at the end of `cmake --install`: notes in ${HALTRACE_LISTS}, one file for each prefix, what was
# installed there, for uninstall.cmake; folders that were made for that end in "/". What packages are
# made of is not installed.
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
if(NOT prefix MATCHES "/_CPack_Packages/")
    string(SHA256 name "${prefix}")
    string(SUBSTRING ${name} 0 16 name)
    set(list "${HALTRACE_LISTS}/${name}.txt")
    set(files ${CMAKE_INSTALL_MANIFEST_FILES})
    list(TRANSFORM files PREPEND "$ENV{DESTDIR}")
    list(APPEND files ${HALTRACE_MADE})
    if(EXISTS "${list}") # an older installation may have had other files
        file(STRINGS "${list}" before)
        list(REMOVE_AT before 0)
        list(APPEND files ${before})
    endif()
    list(REMOVE_DUPLICATES files)
    list(JOIN files "\n" files)
    file(WRITE "${list}" "${prefix}\n${files}\n")
endif()
