// What a cache of simulations builds, when, and what it never runs; with a Makefile in place of
// Verilator.
#include "kiln/hardware/simulation_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "kiln/support/file.h"

namespace kiln::hardware {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Simulations : public testing::Test {
 protected:
  fs::path Cache() const { return folder_.path() / "cache"; }
  // A simulation whose build takes some time and leaves a line in builds().
  SimulationSources SourcesOf(const std::string& top) const {
    return {{"Makefile", "build/simulate build/simulate_trace:\n\techo build >> " +
                             (folder_.path() / "builds").string() +
                             "; mkdir -p build; cat top.sv > $@; sleep 0.3; echo $(TRACE) >> $@; "
                             "chmod +x $@\n"},
            {"top.sv", "# " + top + "\n"}};
  }
  int64_t builds() const {
    return std::ssize(ReadFile(folder_.path() / "builds").value_or("")) / 6;
  }
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-cache");
};

TEST_F(Simulations, AreBuiltOncePerTextAndOption) {
  SimulationCache cache(Cache());
  const auto first = cache.ProgramOf(SourcesOf("one"), /*trace=*/false);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*ReadFile(*first), "# one\n\n");
  EXPECT_EQ(*cache.ProgramOf(SourcesOf("one"), false), *first);
  EXPECT_EQ(builds(), 1);
  EXPECT_EQ(*ReadFile(*cache.ProgramOf(SourcesOf("one"), /*trace=*/true)), "# one\n1\n");
  EXPECT_EQ(*ReadFile(*cache.ProgramOf(SourcesOf("two"), false)), "# two\n\n");
  EXPECT_EQ(builds(), 3);
  // A later process finds them.
  EXPECT_EQ(*SimulationCache(Cache()).ProgramOf(SourcesOf("one"), false), *first);
  EXPECT_EQ(builds(), 3);
}

TEST_F(Simulations, OfATemporaryFolderGoWithTheCache) {
  fs::path program;
  {
    SimulationCache cache;
    program = *cache.ProgramOf(SourcesOf("one"), false);
    EXPECT_TRUE(fs::exists(program));
  }
  EXPECT_FALSE(fs::exists(program.parent_path()));
}

// Each finds a whole program, which one of them has built.
TEST_F(Simulations, AreBuiltOnceByProcessesAtOnce) {
  std::array<pid_t, 4> children;
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      SimulationCache cache(Cache());
      const auto program = cache.ProgramOf(SourcesOf("one"), false);
      ::_exit(program.ok() && ReadFile(*program).value_or("") == "# one\n\n" ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int state = 0;
    ASSERT_EQ(::waitpid(child, &state, 0), child);
    EXPECT_EQ(state, 0);
  }
  EXPECT_EQ(builds(), 1);
}

TEST_F(Simulations, AreBuiltOnceByThreadsAtOnce) {
  SimulationCache cache(Cache());
  std::array<std::string, 4> texts;
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&] { text = *ReadFile(*cache.ProgramOf(SourcesOf("one"), false)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts, testing::Each("# one\n\n"));
  EXPECT_EQ(builds(), 1);
}

TEST_F(Simulations, ThatFailToBuildAreTriedAgain) {
  SimulationCache cache(Cache());
  SimulationSources sources = SourcesOf("one");
  sources["Makefile"] = "build/simulate:\n\techo no luck; exit 3\n";
  const fs::path log = folder_.path() / "log";
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(MessageOf(cache.ProgramOf(sources, false, log).status()), HasSubstr("no luck"));
  }
  EXPECT_THAT(*ReadFile(log), HasSubstr("no luck"));
}

// What a build that was killed leaves.
TEST_F(Simulations, ThatWereNotFinishedAreBuiltAgain) {
  SimulationCache cache(Cache());
  const fs::path program = *cache.ProgramOf(SourcesOf("one"), false);
  fs::rename(program, program.parent_path() / "copy");
  ASSERT_TRUE(WriteFile(program.parent_path() / "copy", "ha").ok());
  EXPECT_EQ(*ReadFile(*cache.ProgramOf(SourcesOf("one"), false)), "# one\n\n");
  EXPECT_EQ(builds(), 2);
}

TEST_F(Simulations, OfFoldersThatOthersWriteToAreNotRun) {
  SimulationCache cache(Cache());
  const fs::path program = *cache.ProgramOf(SourcesOf("one"), false);
  fs::permissions(Cache(), fs::perms::all);
  EXPECT_THAT(MessageOf(cache.ProgramOf(SourcesOf("one"), false).status()),
              HasSubstr("cache: programs in it would be run, and somebody else may have put"));
  fs::permissions(Cache(), fs::perms::owner_all);
  fs::permissions(program.parent_path(), fs::perms::all);
  EXPECT_FALSE(cache.ProgramOf(SourcesOf("one"), false).ok());
  // A link in place of the folder.
  fs::create_directory_symlink(Cache(), folder_.path() / "link");
  EXPECT_FALSE(SimulationCache(folder_.path() / "link").ProgramOf(SourcesOf("one"), false).ok());
}

}  // namespace
}  // namespace kiln::hardware
