# What `cmake --install` puts into a prefix:
#   include/, lib/   the privacy rooms as static libraries: find_package(submix), submix::ledger …
#   bin/             submix and submix-train
#   share/           the bundled data, licences and documents, man pages, completion for bash and zsh
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/submix)

# A private token needs these and no language model. Headers that a room lists under SRCS are its
# own business and stay here, first of all ledger/receipt_press.h.
foreach(room IN ITEMS base divergence accounting mechanism_kernels mechanism mechanism_baselines
        mechanism_declaring ledger sample)
  if(TARGET submix_${room})
    install(TARGETS submix_${room} EXPORT submixTargets
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
endforeach()
install(EXPORT submixTargets NAMESPACE submix:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/submixConfig.cmake.in
  ${PROJECT_BINARY_DIR}/submixConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/submixConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/submixConfig.cmake
              ${PROJECT_BINARY_DIR}/submixConfigVersion.cmake
        DESTINATION ${package_dir})

# Two components, which cmake/packages.cmake makes packages of.
if(TARGET submix_app)
  install(TARGETS submix_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT submix)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/submix.service DESTINATION lib/systemd/system
          COMPONENT submix)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/submix
          COMPONENT submix)
  install(FILES ${PROJECT_SOURCE_DIR}/examples/serve.toml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/submix/examples COMPONENT submix)
  foreach(document IN ITEMS README.md LICENSE NOTICE CHANGELOG.md SECURITY.md)
    install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/submix
            COMPONENT submix)
  endforeach()
  # Found by the name of the program. zsh's folder is Debian's.
  foreach(program IN ITEMS submix submix-train)
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/completions/submix.bash
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program} COMPONENT submix)
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/completions/_submix
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT submix)
  # Written when it is installed: some fifty pages of --help, which no build has to wait for.
  if(SUBMIX_HELP2MAN AND Python3_Interpreter_FOUND)
    install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND
      \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/packaging/man_pages.py\" \"$<TARGET_FILE:submix_app>\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")" COMPONENT submix)
  endif()
endif()
# A wheel has the program in its package, and a command that starts it.
if(TARGET submix_python AND TARGET submix_app)
  install(TARGETS submix_app RUNTIME DESTINATION ${SUBMIX_PYTHON_DIR}/submix/bin
          COMPONENT wheel EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/submix/python/submix/_command.py
          DESTINATION ${SUBMIX_PYTHON_DIR}/submix COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
if(TARGET submix_train_app)
  install(TARGETS submix_train_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT submix-train)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/demo.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/submix
          COMPONENT submix-train)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/submix/data
          COMPONENT submix-train)
endif()
