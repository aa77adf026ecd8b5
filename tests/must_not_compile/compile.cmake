# cmake -DCOMPILER=g++ -DSOURCE=x.cc -DINCLUDE_DIR=… [-DMISUSE=3 -DEXPECTED=regex] -P compile.cmake
#
# Compiles SOURCE. Without MISUSE it must compile. With it, it must not, and the compiler must say
# why in words that match EXPECTED: failing for another reason is a failure of the test.
set(command ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -I${INCLUDE_DIR})
if(DEFINED MISUSE)
  list(APPEND command -DMISUSE=${MISUSE})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${command} ${SOURCE}
                RESULT_VARIABLE result ERROR_VARIABLE messages)
if(NOT DEFINED MISUSE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the right use does not compile:\n${messages}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "misuse ${MISUSE} compiles")
elseif(NOT messages MATCHES "error: [^\n]*(${EXPECTED})")
  message(FATAL_ERROR "misuse ${MISUSE} fails for another reason than '${EXPECTED}':\n${messages}")
endif()
