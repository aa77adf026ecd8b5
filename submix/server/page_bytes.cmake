# The built pages as C++, for page_files.cc. Without npm: page/built is committed.
set(page_bytes ${CMAKE_CURRENT_BINARY_DIR}/generated/submix/server/page_bytes.inc)
set(page_policy ${PROJECT_SOURCE_DIR}/page/content_security_policy.txt)
file(GLOB page_built CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/page/built/*/*)
add_custom_command(OUTPUT ${page_bytes}
  COMMAND ${CMAKE_COMMAND} -DBUILT=${PROJECT_SOURCE_DIR}/page/built -DPOLICY=${page_policy} -DOUT=${page_bytes}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
  DEPENDS ${page_built} ${page_policy} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
  COMMENT "Embedding the pages" VERBATIM)
add_custom_target(submix_page_bytes DEPENDS ${page_bytes})  # for who compiles sources alone
target_sources(submix_server PRIVATE ${page_bytes})
target_include_directories(submix_server PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
