# Of a folder that is built already (SUBMIX_WHEEL_FROM), what a wheel holds.
foreach(component IN ITEMS python3-submix wheel)
  install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND \"${CMAKE_COMMAND}\" --install \"${SUBMIX_WHEEL_FROM}\"
    --strip --component ${component} --prefix \"${PROJECT_BINARY_DIR}/staged\")" COMPONENT python3-submix)
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/staged/lib/python3/dist-packages/ DESTINATION . USE_SOURCE_PERMISSIONS
        COMPONENT python3-submix)
add_custom_target(submix_python)
add_custom_target(submix_app)
