# Installs the build into a fresh prefix, builds the example against it as a stranger would, runs it.
#   cmake -DBUILD_DIR=… -DEXAMPLE_DIR=… -DWORK_DIR=… -DCOMPILER=… -P install_test.cmake
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code})")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run("cmake --install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run("configuring the example" ${CMAKE_COMMAND} -S ${EXAMPLE_DIR} -B ${WORK_DIR}/build -G Ninja
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
run("building the example" ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run("the example in memory" ${WORK_DIR}/build/private_token)
run("the example on disk" ${WORK_DIR}/build/private_token ${WORK_DIR}/ledger)
run("the example on the same ledger" ${WORK_DIR}/build/private_token ${WORK_DIR}/ledger)
foreach(line IN ITEMS "filtered-submix" "token: " "part 0: spent 0\\.[0-9]+ of a budget of 0\\.5000")
  if(NOT output MATCHES "${line}")
    message(FATAL_ERROR "the example printed nothing like '${line}'")
  endif()
endforeach()

# The only maker of receipts stays at home.
file(GLOB_RECURSE press ${WORK_DIR}/prefix/*receipt_press.h)
if(press)
  message(FATAL_ERROR "receipt_press.h must not be installed: ${press}")
endif()

if(EXISTS ${WORK_DIR}/prefix/bin/submix)
  run("the installed submix" ${WORK_DIR}/prefix/bin/submix --help)
endif()
file(REMOVE_RECURSE ${WORK_DIR})
