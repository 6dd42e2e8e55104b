# Writes the bytes of INPUT as the C array NAME into OUTPUT:
#   cmake -D INPUT=... -D OUTPUT=... -D NAME=... -P embed.cmake
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "static const unsigned char ${NAME}[] = {\n${bytes}};\n")
