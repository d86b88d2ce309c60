// Runs the commands in tests/errors/*.txt and checks the error line and the exit code listed below
// each command:
//
//   $ kiln run net.onnx --on none.yaml --data x.idx
//   exit 1
//   kiln: none.yaml: no such file ...
//
// An expected line that ends in ... is only the beginning of the actual line. Lines that begin with
// # are comments. Commands run from the source folder; ./ in them is replaced by
// tests/errors/files. No command may leave a file or folder there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "kiln/cli/application.h"

namespace kiln::cli {
namespace {

struct Case {
  std::string where;  // file:line
  std::vector<std::string> arguments;
  int exit_code = 0;
  std::string text;
};

std::string Expand(std::string text) {
  const std::string files = "tests/errors/files/";
  for (size_t at = 0; (at = text.find("./", at)) != std::string::npos;) {
    if (at > 0 && text[at - 1] == '.') {  // of ../
      at += 2;
    } else {
      text.replace(at, 2, files);
      at += files.size();
    }
  }
  return text;
}

std::vector<Case> ReadCases() {
  std::vector<Case> cases;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/errors")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream in(path);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("$ kiln")) {
        Case& one = cases.emplace_back();
        one.where = path.string() + ":" + std::to_string(number);
        std::istringstream words(Expand(line.substr(6)));
        for (std::string word; words >> word;) one.arguments.push_back(word);
      } else if (line.starts_with("exit ") && !cases.empty()) {
        cases.back().exit_code = std::stoi(line.substr(5));
      } else if (!cases.empty()) {
        cases.back().text += Expand(line) + "\n";
      }
    }
  }
  return cases;
}

std::set<std::string> FilesThere() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/errors")) {
    names.insert(entry.path().string());
  }
  return names;
}

TEST(Errors, AreAsTheGoldenFilesSay) {
  const std::vector<Case> cases = ReadCases();
  EXPECT_GE(cases.size(), 20u) << "run from the source folder";
  std::set<std::string> there = FilesThere();
  for (const Case& one : cases) {
    std::ostringstream out, err;
    EXPECT_EQ(Main(one.arguments, out, err, false), one.exit_code) << one.where;
    if (one.text.ends_with("...\n")) {
      EXPECT_THAT(err.str(), testing::StartsWith(one.text.substr(0, one.text.size() - 4)))
          << one.where;
      EXPECT_THAT(err.str(), testing::EndsWith("\n")) << one.where;
    } else {
      EXPECT_EQ(err.str(), one.text) << one.where;
    }
    EXPECT_EQ(out.str(), "") << one.where << ": results on standard output beside an error";
    const std::string text = err.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1)
        << one.where << ": an error is one line";
    const std::set<std::string> now = FilesThere();
    EXPECT_EQ(now, there) << one.where << ": results beside an error";
    there = now;
  }
}

// An empty text is what the shell makes of a variable that is not set.
TEST(Errors, EmptyValuesAreRefused) {
  const std::string model = "models/demo_fashion_mnist.onnx", on = "systolic-int8-8x8";
  for (const auto& [arguments, fault] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"compile", model, "--on", on, "--emit", ""}, "--emit"},
           {{"run", model, "--on", on, "--random", "1", "--outputs", ""}, "--outputs"},
           {{"run", model, "--on", on, "--random", "1", "--quantise", ""}, "--quantise"},
           {{"run", "", "--on", on, "--random", "1"}, "model"},
           {{"export", model, "-o", ""}, "--output"},
           {{"inspect", ""}, "model"}}) {
    std::ostringstream out, err;
    EXPECT_EQ(Main(arguments, out, err, false), kExitUsage);
    EXPECT_THAT(err.str(), testing::StartsWith("kiln: " + fault +
                                               ": is empty; give it a value, or leave it out; see "
                                               "kiln " +
                                               arguments[0]));
    EXPECT_EQ(out.str(), "");
  }
}

}  // namespace
}  // namespace kiln::cli
