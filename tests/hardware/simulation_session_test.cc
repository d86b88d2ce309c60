// The protocol of simulations: the two ends of it against each other, and programs that do not
// follow it.
#include "kiln/hardware/simulation_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/file.h"
#include "rtl/testbench/kiln_simulate_session.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- The other end, as the testbenches have it, around a machine that adds up bytes.

constexpr char kServes[] = "KILN_TEST_SESSION";

testbench::SessionRun AddUp(testbench::AxiMemory& memory, uint64_t limit, uint64_t address,
                            uint64_t count) {
  if (count == 13) {
    std::printf("assertion failed\n");
    std::fflush(stdout);
    std::abort();
  }
  testbench::SessionRun run;
  run.ended = count <= limit;
  run.events = {{}, {}};
  if (run.ended == 0) return run;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    sum += memory.bytes()[address + i];
    run.events[i % 2].push_back(i);
  }
  run.cycles = count;
  if (memory.Response(address, count) != 0) {
    run.error = 8;
    run.error_place = address;
  }
  memory.bytes()[address] = static_cast<uint8_t>(sum);
  run.counters = {sum, count};
  return run;
}

// Before main(): this program, started with kServes, is a simulation.
const bool served = [] {
  if (std::getenv(kServes) == nullptr) return false;
  testbench::AxiMemory memory(0);
  testbench::SessionMachine machine;
  machine.memory = &memory;
  machine.words = 2;
  machine.run = [&](uint64_t limit, const std::vector<uint64_t>& words) {
    return AddUp(memory, limit, words[0], words[1]);
  };
  machine.record = [](const std::string& file, uint64_t from, uint64_t to) {
    return from <= to && WriteFile(file, std::to_string(from) + " " + std::to_string(to)).ok();
  };
  std::_Exit(testbench::Session(machine).Serve());
}();

class SimulatedMachine : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv(kServes, "1", 1);
    auto started = SimulationSession::Start("/proc/self/exe", {"--seed", "1"});
    ::unsetenv(kServes);
    ASSERT_TRUE(started.ok()) << started.status();
    session_ = std::make_unique<SimulationSession>(*std::move(started));
  }
  std::unique_ptr<SimulationSession> session_;
};

TEST_F(SimulatedMachine, RunsProgramsInItsMemory) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{16, 32}, {64, 80}}), OkStatus());
  ASSERT_EQ(session_->Write(16, std::vector<uint8_t>{1, 2, 3, 4, 5}), OkStatus());
  for (const auto& [sum, begin] : {std::pair{15u, 15}, {29u, 29}}) {
    const auto outcome = session_->Run(std::vector<uint64_t>{16, 5}, 0);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(outcome->ended);
    EXPECT_EQ(outcome->cycles, 5u);
    EXPECT_EQ(outcome->error, 0u);
    EXPECT_THAT(*session_->Counters(2), ElementsAre(sum, 5));
    EXPECT_THAT(*session_->Events(2, 5), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
    std::vector<uint8_t> memory(5);
    ASSERT_EQ(session_->Read(16, memory), OkStatus());
    EXPECT_THAT(memory, ElementsAre(begin, 2, 3, 4, 5));
  }
  // Between the ranges there is no memory, and a new map is zero.
  EXPECT_EQ(session_->Run(std::vector<uint64_t>{40, 2}, 0)->error, 8u);
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 32}}), OkStatus());
  EXPECT_EQ(session_->Run(std::vector<uint64_t>{16, 5}, 0)->error, 0u);
  EXPECT_THAT(*session_->Counters(2), ElementsAre(0, 5));
}

TEST_F(SimulatedMachine, IsGivenUpAfterTheMostCycles) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 32}}), OkStatus());
  EXPECT_TRUE(session_->Run(std::vector<uint64_t>{0, 6}, 6)->ended);
  EXPECT_FALSE(session_->Run(std::vector<uint64_t>{0, 7}, 6)->ended);
}

TEST_F(SimulatedMachine, RecordsCycles) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-test");
  ASSERT_EQ(session_->Record(folder.path() / "a wave.fst", 3, 90), OkStatus());
  EXPECT_EQ(*ReadFile(folder.path() / "a wave.fst"), "3 90");
  EXPECT_THAT(MessageOf(session_->Record("wave.fst", 4, 3)), HasSubstr("cannot record"));
}

TEST_F(SimulatedMachine, RefusesWhatItDoesNotHave) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 128}}), OkStatus());
  std::vector<uint8_t> bytes(8);
  EXPECT_THAT(MessageOf(session_->Read(124, bytes)), HasSubstr("no such memory"));
  // From then on every call fails.
  EXPECT_THAT(MessageOf(session_->Write(0, bytes)), HasSubstr("no such memory"));
}

TEST_F(SimulatedMachine, ThatDiesLeavesItsLastWords) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 128}}), OkStatus());
  EXPECT_THAT(
      MessageOf(session_->Run(std::vector<uint64_t>{0, 13}, 0).status()),
      testing::AllOf(HasSubstr("/proc/self/exe: has ended"), HasSubstr("assertion failed")));
  EXPECT_THAT(MessageOf(session_->Counters(2).status()), HasSubstr("assertion failed"));
}

TEST_F(SimulatedMachine, AnswersOfAnotherLengthAreErrors) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 128}}), OkStatus());
  ASSERT_TRUE(session_->Run(std::vector<uint64_t>{0, 5}, 0).ok());
  EXPECT_THAT(MessageOf(session_->Counters(3).status()),
              HasSubstr("an answer of 16 bytes in place of 24"));
}

TEST_F(SimulatedMachine, EventsHaveABudget) {
  ASSERT_EQ(session_->Map(std::vector<SimulationSession::Range>{{0, 128}}), OkStatus());
  ASSERT_TRUE(session_->Run(std::vector<uint64_t>{0, 5}, 0).ok());
  EXPECT_THAT(MessageOf(session_->Events(2, 4).status()),
              HasSubstr("an answer of 56 bytes where 48 are the most"));
}

// ---- Programs that are no simulations.

class SimulationImpostor : public testing::Test {
 protected:
  // Starts a shell script as a simulation.
  StatusOr<SimulationSession> Start(const std::string& script) const {
    const fs::path program = folder_.path() / "simulate";
    EXPECT_TRUE(WriteFile(program, "#!/bin/sh\n" + script + "\n").ok());
    fs::permissions(program, fs::perms::owner_all);
    return SimulationSession::Start(program, {});
  }
  // What it makes of a run, or of events, where the answer is `words`.
  Status Run(const std::string& words) const {
    auto session = Start("printf KILNSIM1; head -c 24 > /dev/null; printf '" + words + "'");
    EXPECT_TRUE(session.ok()) << session.status();
    return session->Run({}, 0).status();
  }
  Status Events(const std::string& words) const {
    auto session = Start("printf KILNSIM1; head -c 16 > /dev/null; printf '" + words + "'");
    EXPECT_TRUE(session.ok()) << session.status();
    return session->Events(1, 2).status();
  }
  // A number below 8 as printf's text.
  static std::string Word(char digit) { return std::string("\\") + digit + R"(\0\0\0\0\0\0\0)"; }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-impostor");
};

TEST_F(SimulationImpostor, SpeaksAnotherProtocol) {
  EXPECT_THAT(MessageOf(Start("printf KILNSIM0").status()),
              HasSubstr("simulate: does not follow the protocol of simulations: it begins with "
                        "304d49534e4c494b instead of 314d49534e4c494b"));
}

TEST_F(SimulationImpostor, EndsAtOnce) {
  EXPECT_THAT(MessageOf(Start("echo 'no such option' >&2").status()),
              HasSubstr("simulate: has ended: ... no such option"));
  EXPECT_THAT(MessageOf(Run("")), HasSubstr("has ended"));
  EXPECT_THAT(MessageOf(Run(Word('0') + "\\040")), HasSubstr("has ended"));
}

TEST_F(SimulationImpostor, AnswersGarbage) {
  EXPECT_THAT(MessageOf(Run(Word('7') + Word('0'))), HasSubstr("an answer begins with 7"));
  EXPECT_THAT(MessageOf(Run(Word('0') + R"(\40\0\0\0\0\0\0\0)" + Word('2') + Word('0') + Word('0') +
                            Word('0'))),
              HasSubstr("a run has ended 2 times"));
}

// Nothing is made ready for what is announced.
TEST_F(SimulationImpostor, AnnouncesMoreThanThereIsMemory) {
  const std::string huge = R"(\377\377\377\377\377\377\377\177)";
  EXPECT_THAT(MessageOf(Run(Word('0') + huge)),
              HasSubstr("an answer of 9223372036854775807 bytes where 32 are the most"));
  EXPECT_THAT(MessageOf(Run(Word('1') + huge)), HasSubstr("where 4096 are the most"));
  EXPECT_THAT(MessageOf(Events(Word('0') + huge)), HasSubstr("where 24 are the most"));
}

TEST_F(SimulationImpostor, CutsListsOfEventsOff) {
  EXPECT_EQ(Events(Word('0') + R"(\20\0\0\0\0\0\0\0)" + Word('1') + Word('5')), OkStatus());
  const std::string sixteen = Word('0') + R"(\20\0\0\0\0\0\0\0)";
  EXPECT_THAT(MessageOf(Events(sixteen + Word('2') + Word('5'))), HasSubstr("is cut off"));
  EXPECT_THAT(MessageOf(Events(sixteen + Word('0') + Word('5'))),
              HasSubstr("more lists of events"));
  EXPECT_THAT(MessageOf(Events(Word('0') + Word('0'))), HasSubstr("is cut off"));
  EXPECT_THAT(MessageOf(Events(Word('0') + Word('7'))), HasSubstr("events of 7 bytes"));
  EXPECT_THAT(MessageOf(Events(sixteen + R"(\377\377\377\377\377\377\377\377)" + Word('0'))),
              HasSubstr("is cut off"));
}

}  // namespace
}  // namespace kiln::hardware
