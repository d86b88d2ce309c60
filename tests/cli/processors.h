// Runs kiln as on older processors: child processes must write identical files. These variables
// select the processor:
//
//   KILN_CPU           for Kiln's own kernels
//   DNNL_MAX_CPU_ISA   for oneDNN, which code that decides bits must not call
//   GLIBC_TUNABLES     for the C library's versions of exp, log, pow, sin and others
#ifndef KILN_TESTS_CLI_PROCESSORS_H_
#define KILN_TESTS_CLI_PROCESSORS_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::cli {

// The program that this one was built with.
inline std::string KilnProgram() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/kiln")
      .string();
}

class Processors : public testing::Test {
 protected:
  Processors() : folder_(TemporaryFolder::Create("kiln-processors").value()) {}

  // Runs `arguments` with OUT standing for a folder of its own, as on each processor, and compares
  // what it writes. `has_threads` says that the command has the option --threads.
  void ExpectTheSameFiles(const std::vector<std::string>& arguments, bool has_threads = true) {
    const std::vector<std::vector<std::string>> processors = {
        {},
        {"KILN_CPU=portable", "DNNL_MAX_CPU_ISA=SSE41", kNoFma},
        {"KILN_CPU=avx2", "DNNL_MAX_CPU_ISA=AVX2"},
        {"DNNL_MAX_CPU_ISA=AVX2", kNoFma},
        {"OMP_NUM_THREADS=1", "THREADS=1"},
    };
    std::map<std::string, std::string> first;
    for (size_t i = 0; i < processors.size(); ++i) {
      const std::filesystem::path out = folder_.path() / ("out" + std::to_string(runs_++));
      std::filesystem::create_directory(out);
      std::vector<std::string> command = {"env"};
      bool one_thread = false;
      for (const std::string& variable : processors[i]) {
        if (variable == "THREADS=1")
          one_thread = true;
        else
          command.push_back(variable);
      }
      command.push_back(KilnProgram());
      if (one_thread && has_threads) command.insert(command.end(), {"--threads", "1"});
      for (std::string argument : arguments) {
        if (const size_t at = argument.find("OUT"); at != std::string::npos)
          argument.replace(at, 3, out.string());
        command.push_back(argument);
      }
      const Status status = RunProgram(command, folder_.path() / "log");
      ASSERT_TRUE(status.ok()) << MessageOf(status);
      const std::map<std::string, std::string> files = FilesOf(out);
      ASSERT_FALSE(files.empty());
      if (i == 0) {
        first = files;
        continue;
      }
      ASSERT_EQ(files.size(), first.size());
      for (const auto& [name, bytes] : files) {
        EXPECT_TRUE(bytes == first[name])
            << name << " differs with " << testing::PrintToString(processors[i]);
      }
    }
  }

  // The files below a folder, by their paths inside it.
  static std::map<std::string, std::string> FilesOf(const std::filesystem::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const auto text = ReadFile(entry.path());
      files[std::filesystem::relative(entry.path(), folder).string()] =
          text.ok() ? *text : MessageOf(text.status());
    }
    return files;
  }

  static constexpr const char* kNoFma = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F";
  static constexpr const char* kModel = "models/demo_fashion_mnist.onnx";
  TemporaryFolder folder_;
  int runs_ = 0;
};

}  // namespace kiln::cli

#endif  // KILN_TESTS_CLI_PROCESSORS_H_
