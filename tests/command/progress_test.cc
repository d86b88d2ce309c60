// Progress bars: what is drawn at once, and what is left on the line.
#include "kiln/command/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace kiln::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Progress, ANewPartIsShownAtOnceAndErased) {
  std::ostringstream err;
  {
    Progress progress(err, true, "work", 4);
    progress.Update(1, "first");
    EXPECT_THAT(err.str(), HasSubstr("work [#######.......................] 1/4  first"));
    progress.Update(2, "second");
    EXPECT_THAT(err.str(), HasSubstr("2/4  second"));
    progress.Update(9, "third");
    EXPECT_THAT(err.str(), HasSubstr("[##############################] 9/4  third"));
  }
  EXPECT_THAT(err.str(), EndsWith("\r\x1b[K"));
}

TEST(Progress, NothingIsShownUnasked) {
  std::ostringstream err;
  {
    Progress progress(err, false, "work", 4);
    progress.Update(1, "first");
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressBars, WithoutATerminalEveryStepIsALine) {
  std::ostringstream err;
  ProgressBars bars(err, false, true);
  const auto update = bars.Callback();
  update("calibrate", 0, 2);
  update("calibrate", 1, 2);
  update("compile", 0, 1);
  update("calibrate", 2, 2);
  EXPECT_EQ(err.str(), "kiln: calibrate\nkiln: compile\nkiln: calibrate\n");
}

}  // namespace
}  // namespace kiln::cli
