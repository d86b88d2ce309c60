// A command of two subcommands: options are bound to the one that has them, and the one that was
// parsed runs.
#include "kiln/command/command_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::cli {
namespace {

class Say {
 public:
  explicit Say(std::string word) : word_(std::move(word)) {}
  void Declare(CLI::App& app) { app.add_option("--times", times_, "how often"); }
  Status Run(Context& context) {
    if (times_ < 0) return absl::InvalidArgumentError("--times is negative");
    for (int i = 0; i < times_; ++i) context.out << word_;
    return OkStatus();
  }

 private:
  std::string word_;
  int times_ = 1;
};

class Talk final : public CommandGroup {
 public:
  Talk() : CommandGroup("Example:\n  talk ping") {
    Add<Say>("ping", "Says ping", "ping ");
    Add<Say>("pong", "Says pong", "pong ");
  }
};

struct Outcome {
  std::string out, fault;
};
Outcome CallTalk(const std::vector<std::string>& arguments) {
  CLI::App app("talk");
  Talk talk;
  talk.Declare(app);
  std::ostringstream out, err;
  Context context{.out = out, .err = err};
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return {"", error.what()};
  }
  const Status status = talk.Run(context);
  return {out.str(), status.ok() ? "" : MessageOf(status)};
}

TEST(CommandGroup, RunsTheSubcommandThatWasParsed) {
  EXPECT_EQ(CallTalk({"ping"}).out, "ping ");
  EXPECT_EQ(CallTalk({"pong", "--times", "3"}).out, "pong pong pong ");
  EXPECT_EQ(CallTalk({"ping", "--times", "-1"}).fault, "--times is negative");
}

TEST(CommandGroup, NeedsOneOfItsSubcommands) {
  EXPECT_THAT(CallTalk({}).fault, testing::HasSubstr("subcommand is required"));
  EXPECT_NE(CallTalk({"pang"}).fault, "");
}

TEST(CommandGroup, HelpListsSubcommandsInOrderAndTheExample) {
  CLI::App app("talk");
  Talk talk;
  talk.Declare(app);
  const std::string help = app.help();
  EXPECT_LT(help.find("Says ping"), help.find("Says pong"));
  EXPECT_THAT(help, testing::HasSubstr("Example:\n  talk ping"));
}

}  // namespace
}  // namespace kiln::cli
