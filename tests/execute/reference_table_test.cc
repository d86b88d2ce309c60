// Checks that every operator has a reference kernel.
#include <gtest/gtest.h>

#include "kiln/execute/reference.h"

namespace kiln {
namespace {

TEST(ReferenceTable, EveryOperatorHasAKernel) {
  for (const OpInfo& info : AllOps()) EXPECT_TRUE(HasReferenceKernel(info.op)) << info.id;
}

}  // namespace
}  // namespace kiln
