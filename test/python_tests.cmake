# Tests in Python that ask real packages. Each finds its own environment under ${MD_VENVS:-$HOME/.cache/modeldoctor} and
# ends with 77, saying why, when that is not installed; where CI is set it fails.
find_program(PYTHON3 python3)
function(md_python_test name script)
  if(PYTHON3)
    add_test(NAME ${name} COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/test/${script} ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500 LABELS judge)
  endif()
endfunction()

md_python_test(schema_check schema_check.py)
md_python_test(judge_roundtrip judge_roundtrip.py $<TARGET_FILE:md_rewrite> ${CMAKE_BINARY_DIR}/judge-cache)
md_python_test(judge_gpu judge_gpu.py $<TARGET_FILE:modeldoctor> ${CMAKE_SOURCE_DIR}/fixtures)
md_python_test(judge_verdicts verdict_table.py $<TARGET_FILE:modeldoctor>)
md_python_test(judge_executorch judge_pt2.py $<TARGET_FILE:modeldoctor> ${CMAKE_SOURCE_DIR} executorch)
md_python_test(judge_aten judge_aten.py $<TARGET_FILE:md_evaluate>)
md_python_test(judge_onnx judge_onnx.py $<TARGET_FILE:md_evaluate>)
md_python_test(judge_onnxruntime judge_onnxruntime.py $<TARGET_FILE:modeldoctor>)
md_python_test(judge_litert_torch judge_pt2.py $<TARGET_FILE:modeldoctor> ${CMAKE_SOURCE_DIR} litert-torch)

# Need nothing but Python. What the judges do where they are not installed; signals, kills, full disks, closed outputs while the program works.
if(PYTHON3)
  add_test(NAME absent_judges COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/test/absent_judges.py)
  add_test(NAME fault_injection COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/test/fault_injection.py $<TARGET_FILE:modeldoctor> ${CMAKE_SOURCE_DIR}/fixtures 20)
  set_tests_properties(fault_injection PROPERTIES TIMEOUT 300)
endif()

# The layout of the sources. Other versions of clang-format lay some lines out differently.
find_program(CLANG_FORMAT clang-format)
if(CLANG_FORMAT)
  execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE clang_format_version)
  if(clang_format_version MATCHES "version 14\\.")
    file(GLOB_RECURSE FORMATTED ${CMAKE_SOURCE_DIR}/app/*.cpp ${CMAKE_SOURCE_DIR}/app/*.h ${CMAKE_SOURCE_DIR}/lib/*.cpp ${CMAKE_SOURCE_DIR}/lib/*.h
      ${CMAKE_SOURCE_DIR}/rules/*.cpp ${CMAKE_SOURCE_DIR}/rules/*.h ${CMAKE_SOURCE_DIR}/test/*.cpp ${CMAKE_SOURCE_DIR}/test/*.h)
    add_test(NAME sources_are_formatted COMMAND ${CLANG_FORMAT} --dry-run -Werror ${FORMATTED})
  endif()
endif()
