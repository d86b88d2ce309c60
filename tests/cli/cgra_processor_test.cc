// Checks that mappings do not depend on the processor.
#include <gtest/gtest.h>

#include "tests/cli/processors.h"

namespace kiln::cli {
namespace {

// Searches that draw random numbers, compare costs, or ask a policy whose scores are sums of
// floats.
TEST_F(Processors, MappersFindTheSameMapping) {
  for (const char* mapper : {"ppo", "guided", "annealing", "evolutionary", "exact"}) {
    ExpectTheSameFiles(
        {"cgra", "map", "fir-8", "--on", "se-16", "--mapper", mapper, "--steps", "400", "--mapping",
         "OUT/mapping.json", "--configuration", "OUT/configuration.json"},
        /*has_threads=*/false);
  }
}

}  // namespace
}  // namespace kiln::cli
