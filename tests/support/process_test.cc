// Tests of child processes and temporary folders, also when signals end the program.
#include "kiln/support/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "kiln/support/file.h"

namespace kiln {
namespace {

using ::testing::HasSubstr;

TEST(Process, KeepsWhatAProgramPrints) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto log = folder->path() / "log";
  ASSERT_TRUE(RunProgram({"sh", "-c", "echo out; echo err >&2; cat"}, log).ok());
  EXPECT_EQ(*ReadFile(log), "out\nerr\n");
}

TEST(Process, SaysHowAProgramFailed) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto log = folder->path() / "log";
  const Status code = RunProgram({"sh", "-c", "echo no luck; exit 3"}, log);
  EXPECT_THAT(MessageOf(code), HasSubstr("sh: ended with code 3: ... no luck"));
  EXPECT_THAT(MessageOf(RunProgram({"sh", "-c", "kill -9 $$"}, log)),
              HasSubstr("killed by signal 9"));
  EXPECT_THAT(MessageOf(RunProgram({"kiln-no-such-program"}, log)), HasSubstr("cannot be started"));
}

TEST(Process, ChildrenAnswerUntilTheyEnd) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto log = folder->path() / "log";
  auto child = ChildProcess::Start({"sh", "-c", "head -c 3; echo why >&2"}, log);
  ASSERT_TRUE(child.ok()) << child.status();
  const std::vector<uint8_t> sent = {7, 0, 255};
  std::vector<uint8_t> received(3);
  ASSERT_TRUE(child->Send(sent).ok());
  ASSERT_TRUE(child->Receive(received).ok());
  EXPECT_EQ(received, sent);
  EXPECT_THAT(MessageOf(child->Receive(received)), HasSubstr("why"));
  // One that does not listen is no reason to wait at the end.
  EXPECT_TRUE(ChildProcess::Start({"sleep", "1000"}, log).ok());
  EXPECT_THAT(MessageOf(ChildProcess::Start({"kiln-no-such-program"}, log).status()),
              HasSubstr("cannot be started"));
}

TEST(Process, TemporaryFoldersGoWithTheirContents) {
  std::filesystem::path path;
  {
    auto folder = TemporaryFolder::Create("kiln-test");
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    ASSERT_TRUE(WriteFile(path / "file", "text").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Whether a process is there and runs; one that has ended may wait for a parent that does not ask.
bool Runs(const std::filesystem::path& number_file) {
  const std::string number = *ReadFile(number_file);
  const auto state = ReadFile("/proc/" + number.substr(0, number.find('\n')) + "/stat");
  if (!state.ok() || state->empty()) return false;
  const size_t behind_name = state->rfind(") ");
  return behind_name != std::string::npos && (*state)[behind_name + 2] != 'Z';
}

// What has been killed ends when it is next looked at.
bool EndsSoon(const std::filesystem::path& number_file) {
  for (int i = 0; i < 2000 && Runs(number_file); ++i) ::usleep(1000);
  return !Runs(number_file);
}

TEST(Process, WhatAProgramLeavesBehindGoesWithIt) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const std::string left = folder->path() / "left", file = folder->path() / "file";
  ASSERT_TRUE(RunProgram({"sh", "-c", "mktemp > " + file + "; sleep 1000 & echo $! > " + left},
                         folder->path() / "log")
                  .ok());
  const std::string name = *ReadFile(file);
  EXPECT_THAT(name, HasSubstr("kiln-run."));
  EXPECT_FALSE(std::filesystem::exists(name.substr(0, name.find('\n'))));
  EXPECT_TRUE(EndsSoon(left));
}

// A program that a signal ends leaves neither its temporary folder, nor the program that it runs,
// nor what that has started, be it deaf to the signal.
TEST(ProcessDeathTest, SignalsLeaveNothingBehind) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const std::string child = folder->path() / "child", grandchild = folder->path() / "grandchild";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const auto names = folder->path() / "names";
    const auto run = [&] {
      CleanUpOnSignals();
      auto inner = TemporaryFolder::Create("kiln-test-inner");
      (void)WriteFile(names, inner->path().string());
      // The signal comes while a program runs, which says who it is.
      const std::string script = "echo $$ > " + child +
                                 "; (trap '' TERM; exec sleep 1000) & echo $! > " + grandchild +
                                 "; kill -" + std::to_string(signal) + " " +
                                 std::to_string(::getpid()) + "; exec sleep 1000";
      const Status status = RunProgram({"sh", "-c", script}, inner->path() / "log");
      std::fprintf(stderr, "came back: %s\n", MessageOf(status).c_str());
      std::exit(0);
    };
    EXPECT_EXIT(run(), testing::KilledBySignal(signal), "");
    ASSERT_TRUE(std::filesystem::exists(names));
    EXPECT_FALSE(std::filesystem::exists(*ReadFile(names)));
    EXPECT_FALSE(Runs(child));
    EXPECT_TRUE(EndsSoon(grandchild));
  }
}

// A program that stays and that nobody waits for has ended when it has, not when patience with it
// has. What it started is deaf to the first signal, and counts from there to where the second one
// must have come.
TEST(ProcessDeathTest, NobodyWaitsForAnIdleProgramThatHasEnded) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const std::string counted = folder->path() / "counted";
  const auto run = [&] {
    CleanUpOnSignals();
    const std::string script = "(trap 'for i in $(seq 100); do sleep 0.01; done; echo > " +
                               counted + "' TERM; echo ready; while :; do sleep 0.01; done) & cat";
    auto idle = ChildProcess::Start({"sh", "-c", script}, folder->path() / "log");
    std::vector<uint8_t> ready(5);
    if (!idle.ok() || !idle->Receive(ready).ok()) std::exit(1);
    ::kill(::getpid(), SIGINT);
    for (;;) ::pause();
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGINT), "");
  EXPECT_FALSE(std::filesystem::exists(counted));
}

}  // namespace
}  // namespace kiln
