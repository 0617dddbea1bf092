# Flags that every target gets: warnings, sanitizers, portability.
add_library(plimsoll_options INTERFACE)
target_compile_options(plimsoll_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps in std::string's own code that are not there (GCC bug 105651).
  target_compile_options(plimsoll_options INTERFACE -Wno-restrict)
endif()
if(PLIMSOLL_WERROR)
  target_compile_options(plimsoll_options INTERFACE -Werror)
endif()
if(PLIMSOLL_SANITIZE)
  target_compile_options(plimsoll_options INTERFACE -fsanitize=${PLIMSOLL_SANITIZE} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(plimsoll_options INTERFACE -fsanitize=${PLIMSOLL_SANITIZE})
endif()
if(PLIMSOLL_PORTABLE)
  target_link_options(plimsoll_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
target_include_directories(plimsoll_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
