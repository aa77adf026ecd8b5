# `cpack -G DEB` in the build folder makes the Debian packages:
#   submix         the program without libtorch: serves, evaluates, keeps the ledger; a systemd unit
#   submix-train   the program with libtorch, and the demo's data
#   python3-submix `import submix`, for the Python that it was built with
set(CPACK_PACKAGE_NAME submix)
set(CPACK_PACKAGE_VENDOR "The Submix authors")
set(CPACK_PACKAGE_CONTACT "The Submix authors <submix@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL submix)
if(TARGET submix_train_app)
  list(APPEND CPACK_COMPONENTS_ALL submix-train)
endif()
if(TARGET submix_python)
  list(APPEND CPACK_COMPONENTS_ALL python3-submix)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_SUBMIX_PACKAGE_NAME submix)
set(CPACK_COMPONENT_SUBMIX_DESCRIPTION "An OpenAI-compatible server and tools for language models
tuned on personal text: answers mix an ensemble of adapters with a public model, under a privacy
budget that is durable and cannot be overspent.")
set(CPACK_DEBIAN_SUBMIX_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_SUBMIX_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/debian/postinst;${PROJECT_SOURCE_DIR}/packaging/debian/prerm;${PROJECT_SOURCE_DIR}/packaging/debian/postrm")
set(CPACK_DEBIAN_SUBMIX-TRAIN_PACKAGE_NAME submix-train)
set(CPACK_COMPONENT_SUBMIX-TRAIN_DESCRIPTION "Trains ensembles for Submix: fine-tuning on disjoint,
user-keyed parts of private text, forgetting, and a demo on bundled data.")
set(CPACK_DEBIAN_SUBMIX-TRAIN_PACKAGE_DEPENDS "submix (= ${PROJECT_VERSION}), libopenblas0-pthread")
set(CPACK_DEBIAN_PYTHON3-SUBMIX_PACKAGE_NAME python3-submix)
set(CPACK_DEBIAN_PYTHON3-SUBMIX_PACKAGE_SECTION python)
set(CPACK_COMPONENT_PYTHON3-SUBMIX_DESCRIPTION "The privacy of Submix for Python: tokens that are paid for
from the logits of any runtime, its accounting and its audit.")
if(TARGET submix_python)
  find_package(Python 3 REQUIRED COMPONENTS Interpreter)
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON3-SUBMIX_PACKAGE_DEPENDS
    "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next_minor}), python3-numpy")
endif()

include(CPack)
