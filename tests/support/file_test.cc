// Tests of reading files: files that are not regular are refused at once, and the budget holds at
// its limit.
#include "kiln/support/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "kiln/support/process.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  static std::string ErrorOf(const fs::path& path, uint64_t most = 100) {
    const auto bytes = ReadFile(path, most);
    return bytes.ok() ? "no error" : MessageOf(bytes.status());
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::Create("kiln-file-test");
};

TEST_F(Files, BudgetHoldsAtItsEdge) {
  Write("full", std::string(100, 'x'));
  Write("more", std::string(101, 'x'));
  const auto full = ReadFile(Path("full"), 100);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_EQ(*full, std::string(100, 'x'));
  EXPECT_EQ(ErrorOf(Path("more")),
            Path("more") + ": 101 bytes are too many; at most 100 bytes are read");
}

// A file with a hole, which takes no room.
TEST_F(Files, HaveABudgetWithoutARowOfTheirOwn) {
  Write("more", "");
  fs::resize_file(Path("more"), budgets::kFileBytes + 1);
  EXPECT_EQ(MessageOf(ReadFile(Path("more")).status()),
            Path("more") + ": 4294967297 bytes are too many; at most 4294967296 bytes are read");
}

// A reader that opened it would wait for somebody to write.
TEST_F(Files, FifosAreRefused) {
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  fs::create_symlink(Path("fifo"), Path("link"));
  EXPECT_EQ(ErrorOf(Path("fifo")), Path("fifo") + ": is not a regular file; name a file");
  EXPECT_EQ(ErrorOf(Path("link")), Path("link") + ": is not a regular file; name a file");
}

TEST_F(Files, DevicesAndSocketsAreRefused) {
  EXPECT_EQ(ErrorOf("/dev/zero"), "/dev/zero: is not a regular file; name a file");
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(Path("socket").size(), sizeof(address.sun_path));
  Path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(ErrorOf(Path("socket")), Path("socket") + ": is not a regular file; name a file");
  ::close(server);
}

TEST_F(Files, WhatIsMissingOrAFolderIsNamed) {
  EXPECT_EQ(ErrorOf(Path("none")), Path("none") + ": no such file; check the path");
  EXPECT_EQ(ReadFile(Path("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrorOf(Path(".")), Path(".") + ": is a directory; name a file");
  Write("file", "");
  EXPECT_EQ(ErrorOf(Path("file/below")), Path("file/below") + ": no such file; check the path");
}

// What a shell's <(...) gives to a command: a pipe that the process already holds.
TEST_F(Files, OpenDescriptorsAreRead) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  ::close(ends[1]);
  const auto text = ReadFile("/dev/fd/" + std::to_string(ends[0]), 3);
  ::close(ends[0]);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "abc");

  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abcd", 4), 4);
  ::close(ends[1]);
  EXPECT_THAT(ErrorOf("/dev/fd/" + std::to_string(ends[0]), 3),
              HasSubstr("is too large; at most 3 bytes are read"));
  ::close(ends[0]);
}

// A path that only begins like a descriptor's leads anywhere.
TEST_F(Files, PathsBehindDescriptorsAreOrdinaryOnes) {
  for (const std::string path : {"/dev/fd/../root/dev/zero", "/proc/self/fd/../root/dev/zero",
                                 "/dev/fd/0/../../root/dev/zero"}) {
    EXPECT_THAT(ErrorOf(path),
                testing::AnyOf(HasSubstr("is not a regular file"), HasSubstr("no such file")))
        << path;
  }
  EXPECT_THAT(ErrorOf("/dev/fd/"), HasSubstr("is a directory"));
}

TEST_F(Files, AreWrittenUnderNamesThatNobodyKnows) {
  Write("victim", "somebody's");
  const std::string planted = Path("out") + ".part" + std::to_string(::getpid());
  fs::create_symlink(Path("victim"), planted);
  ASSERT_TRUE(WriteFile(Path("out"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("victim")), "somebody's");
  EXPECT_EQ(*ReadFile(Path("out")), "new");
  EXPECT_TRUE(fs::is_symlink(planted));
  EXPECT_EQ(std::distance(fs::directory_iterator(Path(".")), fs::directory_iterator()), 3);
}

TEST_F(Files, AreNotWrittenThroughLinks) {
  Write("victim", "somebody's");
  for (const char* target : {"victim", "nowhere", "/dev/full"}) {
    fs::remove(Path("link"));
    fs::create_symlink(target, Path("link"));
    EXPECT_EQ(MessageOf(WriteFile(Path("link"), "new")),
              Path("link") +
                  ": is a link, and nothing is written through links; remove it or name "
                  "another file");
    EXPECT_TRUE(fs::is_symlink(Path("link")));
  }
  EXPECT_EQ(*ReadFile(Path("victim")), "somebody's");
  EXPECT_FALSE(fs::exists(Path("nowhere")));
  // A folder may be a link.
  fs::create_directory(Path("real"));
  fs::create_directory_symlink("real", Path("folder"));
  EXPECT_TRUE(WriteFile(Path("folder/out"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("real/out")), "new");
}

TEST_F(Files, AreWrittenToDescriptorsWhereTheyStand) {
  Write("log", "");
  const int log = ::open(Path("log").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(log, 0);
  ASSERT_EQ(::write(log, "before ", 7), 7);
  const std::string name = "/dev/fd/" + std::to_string(log);
  EXPECT_EQ(OutputDescriptor(name), log);
  EXPECT_TRUE(WriteFile(name, "written ").ok());
  ASSERT_EQ(::write(log, "after", 5), 5);
  ::close(log);
  EXPECT_EQ(*ReadFile(Path("log")), "before written after");
  EXPECT_THAT(MessageOf(WriteFile(name, "more")), HasSubstr("could not be written in full"));
  EXPECT_TRUE(WriteFile("/dev/null", "nothing").ok());
  EXPECT_EQ(OutputDescriptor("/dev/stdout"), 1);
  EXPECT_EQ(OutputDescriptor("/dev/stderr"), 2);
  EXPECT_EQ(OutputDescriptor("/proc/self/fd/12"), 12);
  for (const char* other : {"/dev/fd/", "/dev/fd/-1", "/dev/fd/1x", "/dev/fd/99999999999",
                            "/dev/fd/0/../../root/dev/full", "/dev/stdin", "stdout", ""}) {
    EXPECT_EQ(OutputDescriptor(other), std::nullopt) << other;
  }
}

TEST_F(Files, MayBeReadAsTheUmaskSays) {
  const mode_t before = ::umask(027);
  EXPECT_TRUE(WriteFile(Path("out"), "").ok());
  ::umask(before);
  EXPECT_EQ(fs::status(Path("out")).permissions(), static_cast<fs::perms>(0640));
}

// Each of two that write one file leaves all of its own text.
TEST_F(Files, ThreadsWriteOneFile) {
  constexpr size_t kBytes = 1 << 20;
  const auto write = [this](char letter) {
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(WriteFile(Path("out"), std::string(kBytes, letter)), OkStatus());
  };
  {
    const std::jthread one(write, 'a'), other(write, 'b');
  }
  const std::string text = *ReadFile(Path("out"), kBytes);
  EXPECT_EQ(text, std::string(kBytes, text[0]));
  EXPECT_EQ(std::distance(fs::directory_iterator(Path(".")), fs::directory_iterator()), 1);
}

TEST_F(Files, NothingIsLeftOfWhatCannotBeWritten) {
  fs::create_directories(Path("folder/below"));
  EXPECT_THAT(MessageOf(WriteFile(Path("folder"), "text")), HasSubstr("cannot be replaced"));
  EXPECT_THAT(MessageOf(WriteFile(Path("none/out"), "text")),
              HasSubstr("choose a folder that exists"));
  EXPECT_EQ(std::distance(fs::directory_iterator(Path(".")), fs::directory_iterator()), 1);
}

// Files of /proc state a size of 0.
TEST_F(Files, FilesWithoutASizeAreRead) {
  const auto text = ReadFile("/proc/self/status");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("Pid:"));
}

}  // namespace
}  // namespace kiln
