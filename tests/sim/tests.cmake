# Tests of the simulator beyond its swarm (sim/seeds). Included by the top CMakeLists.txt.
file(GLOB scenarios RELATIVE ${CMAKE_SOURCE_DIR}/tests/scenarios CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/tests/scenarios/*/expected)
foreach(file IN LISTS scenarios)
  get_filename_component(name ${file} DIRECTORY)
  add_test(NAME scenario/${name} COMMAND holdfast-sim --scenario tests/scenarios/${name}
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(scenario/${name} PROPERTIES TIMEOUT 60 LABELS sim)
endforeach()

# Seeds that once failed.
add_test(NAME sim/kept COMMAND holdfast-sim --kept tests/seeds/kept
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
# A journal of a run, through the engine again: every decision the same, byte for byte.
add_test(NAME sim/replay
         COMMAND sh tests/sim/replay.sh $<TARGET_FILE:holdfast-sim> ${CMAKE_BINARY_DIR}/sim-replay
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
# The same seed gives the same run, to the last line of its timeline.
add_test(NAME sim/repeats
         COMMAND sh tests/sim/repeats.sh $<TARGET_FILE:holdfast-sim>
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(sim/kept sim/replay sim/repeats PROPERTIES TIMEOUT 120 LABELS sim)
