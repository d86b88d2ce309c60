// Tests of the program `kiln` as a whole: help, name suggestions, every command on the demo
// network, and its files.
#include "kiln/cli/application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fmt/format.h"
#include "kiln/cli/commands.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"
#include "tests/cli/call.h"

namespace kiln::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// By hand, so that a command cannot get lost where the build writes the table.
constexpr const char* kCommands[] = {"run",      "sweep",  "compare", "accuracy", "mixed-precision",
                                     "compile",  "verify", "inspect", "passes",   "export",
                                     "synth",    "doctor", "list",    "binary",   "cgra",
                                     "dataflow", "vta"};

TEST(Application, TheTableHoldsEveryCommand) {
  std::vector<std::string> names;
  for (const CommandRow& row : AllCommands()) names.emplace_back(row.name);
  EXPECT_THAT(names, testing::ElementsAreArray(kCommands));
}

TEST(Application, EveryCommandHelpsWithAnExample) {
  const Outcome all = Call({"--help"});
  EXPECT_EQ(all.code, kExitOk);
  for (const char* name : kCommands) {
    EXPECT_THAT(all.out, HasSubstr(name));
    const Outcome help = Call({name, "--help"});
    EXPECT_EQ(help.code, kExitOk) << name;
    EXPECT_EQ(help.err, "") << name;
    EXPECT_THAT(help.out, HasSubstr(std::string("Usage: kiln ") + name));
    EXPECT_THAT(help.out, HasSubstr(std::string("Example:\n  kiln ") + name));
    EXPECT_EQ(Call({name, "--no-such-flag"}).code, kExitUsage) << name;
  }
}

// What a network, an accelerator and images are is said alike to all commands that compile.
TEST(Application, CommandsThatCompileShareTheirOptions) {
  for (const char* name : {"run", "sweep", "compile", "verify", "accuracy"}) {
    const std::string help = Call({name, "--help"}).out;
    for (const char* option :
         {"--on", "--no-host", "--data", "--labels", "--data-format", "--data-shape",
          "--preprocess", "--random", "--calibrate", "--calibration-images"}) {
      EXPECT_THAT(help, HasSubstr(std::string("  ") + option + " ")) << name;
    }
    for (const char* option : {"--quantise", "--optimise"}) {
      EXPECT_EQ(help.find(option) != std::string::npos, std::string(name) != "accuracy")
          << name << " " << option;
    }
  }
}

// The report says what schedules minimise, and they do have less of it than any others.
TEST(Application, CompilesByEveryObjective) {
  const std::vector<std::string> objectives = {"cycles", "energy", "edp", "traffic"};
  std::map<std::string, double> picojoules;
  std::map<std::string, int64_t> bytes;
  for (const std::string& objective : objectives) {
    const Outcome made = Call({"-q", "compile", "models/demo_fashion_mnist.onnx", "--on",
                               "systolic-int8-8x8", "--optimise", objective, "--json", "-"});
    ASSERT_EQ(made.code, kExitOk) << made.err;
    const auto json = nlohmann::json::parse(made.out);
    EXPECT_EQ(json["optimise"], objective);
    EXPECT_EQ(made.out.find("(--optimise " + objective + ")") != std::string::npos,
              objective != "cycles");
    picojoules[objective] = json["energy"]["picojoules_per_image"];
    for (const auto& part : json["energy"]["parts"]) {
      if (part["unit"] == "outer memory") bytes[objective] = part["count"];
    }
  }
  for (const std::string& objective : objectives) {
    EXPECT_LE(picojoules["energy"], picojoules[objective]) << objective;
    EXPECT_LE(bytes["traffic"], bytes[objective]) << objective;
  }
  EXPECT_LT(picojoules["energy"], picojoules["cycles"]);
  EXPECT_LT(bytes["traffic"], bytes["cycles"]);

  const auto text = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"-q", "compile", "models/demo_fashion_mnist.onnx", "--on",
                                          "systolic-int8-8x8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Call(arguments).out;
  };
  EXPECT_THAT(text({}), Not(HasSubstr("note: schedules")));
  const std::string by_energy = text({"--optimise", "energy", "--node-nm", "7"});
  EXPECT_THAT(by_energy, HasSubstr("note: schedules are those of the least energy at 7 nm "
                                   "(--optimise energy), not of the fewest cycles\n"));
  EXPECT_THAT(by_energy, HasSubstr("least energy among its tilings"));
}

TEST(Application, VersionAndBareCall) {
  EXPECT_THAT(Call({"--version"}).out, HasSubstr("kiln 0."));
  EXPECT_EQ(Call({}).code, kExitOk);
  EXPECT_EQ(Call({"--quiet"}).code, kExitUsage);
}

TEST(Application, ListsEverything) {
  for (const char* what : {"accelerators", "families", "recipes", "formats", "operators", "passes",
                           "data-formats", "commands", "recipe-keys"}) {
    const Outcome list = Call({"list", what});
    EXPECT_EQ(list.code, kExitOk) << what;
    EXPECT_THAT(list.out, HasSubstr("\n")) << what;
  }
  EXPECT_THAT(Call({"list", "families"}).out, HasSubstr("systolic"));
  const std::string formats = Call({"list", "formats"}).out;
  EXPECT_THAT(formats, HasSubstr("int8"));
  // The rows are those of table 1 of OCP Microscaling Formats (MX) 1.0; mxint8's elements have six
  // fraction bits.
  for (const char* row :
       {"mxint8 +fixed8_6 +32 +e8m0", "mxfp8_e4m3 +e4m3 +32 +e8m0", "mxfp8_e5m2 +e5m2 +32 +e8m0",
        "mxfp6_e3m2 +e3m2 +32 +e8m0", "mxfp6_e2m3 +e2m3 +32 +e8m0", "mxfp4 +e2m1 +32 +e8m0"}) {
    EXPECT_THAT(formats, testing::ContainsRegex(row));
  }
  EXPECT_THAT(Call({"list", "recipes"}).out, HasSubstr("recipes/int8.yaml"));
  // What a design point is for is the first clause of its file.
  EXPECT_THAT(
      Call({"list", "accelerators"}).out,
      AllOf(
          HasSubstr("\nvta-pynq                        vta          256  VTA on the PYNQ board\n"),
          HasSubstr("\nbinary-176                      binary     2,376  The binary-weight "
                    "hourglass accelerator\n")));
  const Outcome nothing = Call({"list", "nothing"});
  EXPECT_EQ(nothing.code, kExitUsage);
  // The line about the command says all that it lists.
  const size_t begin = nothing.err.find('{'), end = nothing.err.find('}');
  ASSERT_LT(begin, end) << nothing.err;
  std::istringstream names(nothing.err.substr(begin + 1, end - begin - 1));
  std::string help = Call({"--help"}).out;
  help.erase(0, help.find("Lists "));
  int count = 0;
  for (std::string name; std::getline(names, name, ','); ++count)
    EXPECT_THAT(help, HasSubstr(name));
  EXPECT_GE(count, 9);
}

TEST(Application, ListsTheKeysOfAFamily) {
  const Outcome table = Call({"list", "keys", "systolic"});
  ASSERT_EQ(table.code, kExitOk) << table.err;
  EXPECT_THAT(
      table.out,
      HasSubstr("\n\narray_rows\n    power of two in rows: 1 to 256; required\n"
                "    rows of the array, which hold the reduction: input channels and kernel "
                "taps\n    RTL: ARRAY_ROWS\n\narray_columns\n"));
  for (const std::string& family : FamilyNames()) {
    std::istringstream lines(Call({"list", "keys", family}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  const Outcome json = Call({"list", "keys", "vta", "--json"});
  ASSERT_EQ(json.code, kExitOk) << json.err;
  const nlohmann::json parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["family"], "vta");
  const nlohmann::json& keys = parsed["keys"];
  const auto latency = std::find_if(keys.begin(), keys.end(), [](const nlohmann::json& key) {
    return key["name"] == "memory_latency";
  });
  ASSERT_NE(latency, keys.end());
  EXPECT_EQ((*latency)["type"], "integer");
  EXPECT_EQ((*latency)["unit"], "cycles");
  EXPECT_EQ((*latency)["values"], "3 to 100000");
  EXPECT_EQ((*latency)["default"], "32");
  EXPECT_EQ((*latency)["rtl"], nlohmann::json({"MEMORY_LATENCY"}));
  EXPECT_THAT(Call({"list", "keys", "vta", "--markdown"}).out,
              HasSubstr("- **`batch`** (power of two, rows: 1 to 256; default 1)"));
  EXPECT_THAT(Call({"list", "keys"}).err, HasSubstr("no family is named"));
  EXPECT_EQ(Call({"list", "keys", "tpu"}).code, kExitUsage);
  EXPECT_THAT(Call({"list", "formats", "vta"}).err, HasSubstr("formats: takes no family"));
}

TEST(Application, InspectsTheDemo) {
  const Outcome table = Call({"inspect", "models/demo_fashion_mnist.onnx", "--optimised"});
  ASSERT_EQ(table.code, kExitOk) << table.err;
  EXPECT_THAT(table.out, HasSubstr("image 1x1x28x28"));
  EXPECT_THAT(table.out, HasSubstr("Conv"));
  EXPECT_THAT(table.out, Not(HasSubstr("BatchNormalization")));  // folded by the passes
  const Outcome json = Call({"inspect", "models/demo_fashion_mnist.onnx", "--json"});
  ASSERT_EQ(json.code, kExitOk) << json.err;
  const nlohmann::json parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["inputs"][0]["name"], "image");
  EXPECT_EQ(parsed["operators"]["Conv"]["nodes"], 12);
  EXPECT_EQ(parsed["metadata"]["kiln.preprocess"], "scale=1/255,mean=0.286,std=0.353");
  const Outcome shapes = Call({"inspect", "models/demo_fashion_mnist.onnx", "--shapes"});
  EXPECT_THAT(shapes.out, HasSubstr("1x16x28x28"));
  EXPECT_THAT(shapes.out,
              HasSubstr("/stage2/stage2.0/body/body.0/body.0.1/BatchNormalization"));  // whole
}

TEST(Application, InspectsWhatItCannotImport) {
  const std::string model = "tests/errors/files/unknown-operator.onnx";
  const Outcome table = Call({"inspect", model});
  ASSERT_EQ(table.code, kExitOk) << table.err;
  EXPECT_THAT(table.out, HasSubstr("takes x f32 1x2x4x4; gives y f32 of unknown shape"));
  EXPECT_THAT(table.out, HasSubstr("Pirouette"));
  EXPECT_THAT(table.out,
              HasSubstr("summary: 1 of 1 operator not supported, in 1 of 1 node: Pirouette"));
  const Outcome json = Call({"inspect", model, "--json"});
  ASSERT_EQ(json.code, kExitOk) << json.err;
  const nlohmann::json parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["unsupported"], nlohmann::json({"Pirouette"}));
  EXPECT_EQ(parsed["operators"]["Pirouette"]["first_node"], "spin");
  // A type that Kiln does not hold: the operators are fine.
  const Outcome type = Call({"inspect", "tests/errors/files/flipped-type.onnx"});
  ASSERT_EQ(type.code, kExitOk) << type.err;
  EXPECT_THAT(type.out, HasSubstr("number 33"));
  EXPECT_THAT(type.out, HasSubstr("summary: every operator is supported"));
  // Numbers as everywhere; a node of field `graph` that names no operator has one all the same.
  const auto file = std::filesystem::temp_directory_path() /
                    ("kiln_unnamed" + std::to_string(::getpid()) + ".onnx");
  std::string unnamed("\x08\x08\x42\x02\x10\x11\x3a\xa4\x13",
                      9);  // IR version 8, opset 17, a graph of 2468 bytes
  for (int i = 0; i < 1234; ++i) unnamed += std::string_view("\x0a\x00", 2);
  ASSERT_TRUE(WriteFile(file, unnamed).ok());
  const Outcome many = Call({"inspect", file.string()});
  std::filesystem::remove(file);
  ASSERT_EQ(many.code, kExitOk) << many.err;
  EXPECT_THAT(
      many.out,
      HasSubstr("summary: 1 of 1 operator not supported, in 1,234 of 1,234 nodes: (no name)\n"));
  EXPECT_THAT(many.out, HasSubstr("\n(no name) "));
  // The file of the weights is absent.
  const Outcome weights = Call({"inspect", "tests/errors/files/missing-weights.onnx"});
  ASSERT_EQ(weights.code, kExitOk) << weights.err;
  EXPECT_THAT(weights.out, HasSubstr("external data 'weights.bin' is not there"));
  EXPECT_THAT(weights.out, HasSubstr("summary: every operator is supported"));
  // A model that contradicts itself is an error.
  EXPECT_NE(Call({"inspect", "tests/errors/files/cyclic.onnx"}).code, kExitOk);
}

// --json is what it is of the other commands; a bare one, wherever it stands, is standard output.
TEST(Application, InspectsIntoJson) {
  const std::string model = "models/demo_fashion_mnist.onnx";
  const Outcome bare = Call({"inspect", model, "--json"});
  ASSERT_EQ(bare.code, kExitOk) << bare.err;
  EXPECT_EQ(nlohmann::json::parse(bare.out)["model"], model);
  EXPECT_EQ(Call({"inspect", "--json", model}).out, bare.out);
  EXPECT_EQ(Call({"inspect", model, "--json", "-"}).out, bare.out);
  const auto folder =
      std::filesystem::temp_directory_path() / ("kiln_inspect_test" + std::to_string(::getpid()));
  const std::string file = folder / "net.json";
  const Outcome both = Call({"inspect", model, "--json", file});
  EXPECT_EQ(both.out, Call({"inspect", model}).out);
  EXPECT_EQ(*ReadFile(file), bare.out);
  std::filesystem::remove_all(folder);
}

TEST(Application, ShowsPasses) {
  const Outcome passes = Call({"passes", "models/demo_fashion_mnist.onnx", "--passes",
                               "fold-batch-norm,eliminate-dead-code"});
  ASSERT_EQ(passes.code, kExitOk) << passes.err;
  EXPECT_THAT(passes.out, HasSubstr("fold-batch-norm"));
  const Outcome skipped =
      Call({"passes", "models/demo_fashion_mnist.onnx", "--skip-pass", "fold-batch-norm"});
  EXPECT_THAT(skipped.out, HasSubstr("skipped"));
}

// The demo network on the first of its test images, by the same command as in the README but at the
// reference level.
TEST(Application, RunsTheReference) {
  const std::string data = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is not there (package dataset-fashion-mnist)";
  const std::vector<std::string> command = {"run",     "models/demo_fashion_mnist.onnx",
                                            "--level", "reference",
                                            "--data",  data,
                                            "--limit", "120",
                                            "--json",  "-"};
  const Outcome run = Call(command);
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["accuracy"]["fp32"]["images"], 120);
  EXPECT_GE(json["accuracy"]["fp32"]["correct"], 100);  // 92 % on the whole set
  EXPECT_EQ(json["data"]["preprocess"], "scale=1/255,mean=0.286,std=0.353");
  EXPECT_EQ(run.err, "");
  // Another chunk size, thread count and place of --threads: the same figures.
  std::vector<std::string> again = command;
  again.insert(again.end(), {"--batch", "7", "--threads", "1", "--quiet"});
  nlohmann::json other = nlohmann::json::parse(Call(again).out);
  EXPECT_EQ(other["accuracy"], json["accuracy"]);
  // Without the right preprocessing accuracy collapses: the option reaches the network.
  std::vector<std::string> wrong = command;
  wrong.insert(wrong.end(), {"--preprocess", "scale=100"});
  EXPECT_LT(nlohmann::json::parse(Call(wrong).out)["accuracy"]["fp32"]["correct"],
            json["accuracy"]["fp32"]["correct"]);
}

// The whole way, as `make demo` goes it, on few images.
TEST(Application, RunsOnAnAccelerator) {
  const std::string data = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << data << " is not there (package dataset-fashion-mnist)";
  const auto folder =
      std::filesystem::temp_directory_path() / ("kiln_run_test" + std::to_string(::getpid()));
  const std::string trace = folder / "trace.json", html = folder / "run.html";
  std::vector<std::string> command = {"run",
                                      "models/demo_fashion_mnist.onnx",
                                      "--on",
                                      "systolic-int8-16x16",
                                      "--data",
                                      data,
                                      "--limit",
                                      "60",
                                      "--cycle-limit",
                                      "2",
                                      "--calibration-images",
                                      "32",
                                      "--json",
                                      "-"};
  std::vector<std::string> first = command;
  first.insert(first.end(), {"--trace", trace, "--report", html});
  const Outcome run = Call(first);
  ASSERT_EQ(run.code, kExitOk) << run.err;
  nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["accuracy"]["fp32"]["images"], 60);
  EXPECT_GE(json["accuracy"]["quantised"]["correct"], 50);  // 92 % on the whole set
  EXPECT_EQ(json["levels_compared"]["images"], 2);
  EXPECT_EQ(json["levels_compared"]["different"], 0);
  ASSERT_EQ(json["cycles_per_image"].size(), 2u);
  EXPECT_EQ(json["cycles_per_image"][0],
            json["cycles_per_image"][1]);  // time does not depend on data
  const double utilisation = json["utilisation"];
  EXPECT_GT(utilisation, 0.05);
  EXPECT_LE(utilisation, 1.0);
  double shares = 0;
  const std::string page = *ReadFile(html);
  for (const auto& kernel : json["kernels"]) {
    shares += kernel["share"].get<double>();
    EXPECT_THAT(page, HasSubstr(kernel["name"].get<std::string>()));
    if (kernel.contains("certificate")) {
      EXPECT_LE(kernel["certificate"]["lower_bound"], kernel["certificate"]["cost"]);
    }
  }
  EXPECT_LE(shares, 1.0 + 1e-9);
  EXPECT_GT(shares, 0.9);
  EXPECT_GT(nlohmann::json::parse(*ReadFile(trace))["traceEvents"].size(), json["kernels"].size());

  // One thread and other chunks: the same report but for the time it took.
  command.insert(command.end(), {"--threads", "1", "--batch", "13"});
  nlohmann::json again = nlohmann::json::parse(Call(command).out);
  for (nlohmann::json* one : {&json, &again}) one->erase("run");
  EXPECT_EQ(json, again);
  std::filesystem::remove_all(folder);
}

TEST(Application, CompilesForEveryDesignPoint) {
  for (const char* name : {"systolic-int8-8x8", "systolic-int8-16x16", "systolic-int8-32x32"}) {
    const Outcome program =
        Call({"compile", "models/demo_fashion_mnist.onnx", "--on", name, "--print"});
    ASSERT_EQ(program.code, kExitOk) << program.err;
    EXPECT_THAT(program.out, HasSubstr("softmax"));
    EXPECT_THAT(program.out, HasSubstr(std::string("program for ") + name));
  }
}

// For machines: what the text says of kernels, and nothing of a run that has not been.
TEST(Application, CompilesIntoJson) {
  const std::vector<std::string> command = {"compile", "models/demo_fashion_mnist.onnx", "--on",
                                            "systolic-int8-8x8"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    return Call(more);
  };
  const Outcome out = with({"--json", "-"});
  ASSERT_EQ(out.code, kExitOk) << out.err;
  const nlohmann::json json = nlohmann::json::parse(out.out);
  EXPECT_EQ(json["accelerator"]["name"], "systolic-int8-8x8");
  EXPECT_TRUE(json["run"].is_null());
  EXPECT_TRUE(json["utilisation"].is_null());
  EXPECT_GT(json["energy"]["picojoules_per_image"], 0);
  const std::string text = with({}).out;
  EXPECT_THAT(text, HasSubstr(fmt::format("\n{} kernels, ", json["kernels"].size())));
  for (const auto& kernel : json["kernels"]) {
    const auto& proof = kernel["certificate"];
    EXPECT_LE(proof["lower_bound"], proof["cost"]) << kernel["name"];
    const double macs = kernel["macs"], peak = json["accelerator"]["peak_macs_per_cycle"];
    if (kernel["unit"] == "matrix") {
      EXPECT_GE(proof["cost"].get<double>(), macs / peak) << kernel["name"];
    }
  }
  const Outcome both = with({"--json", "-", "--print"});
  EXPECT_EQ(both.code, kExitError);
  EXPECT_THAT(both.err, HasSubstr("with --json - no text is printed"));
}

// Weights need no images to be quantised; ranges of activations and corrected biases do. A file of
// quantisers has as many parameters and bytes as the same network with annotations.
TEST(Application, ExportNeedsImagesOnlyWhereTheyCount) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-export-weights");
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string model = "models/demo_fashion_mnist.onnx";
  const auto size_of = [&](const std::string& file) {
    const Outcome inspected = Call({"inspect", file, "--json", "-"});
    EXPECT_EQ(inspected.code, kExitOk) << inspected.err;
    const auto json = nlohmann::json::parse(inspected.out);
    return std::pair(json["parameters"].get<int64_t>(), json["parameter_bytes"].get<int64_t>());
  };
  for (const char* file : {"weights.kir", "weights.onnx"}) {
    const Outcome out = Call({"export", model, "-o", at(file), "--quantise", "fp32/int8"});
    EXPECT_EQ(out.code, kExitOk) << out.err;
  }
  ASSERT_EQ(Call({"export", model, "-o", at("fp32.onnx"), "--passes", "standard"}).code, kExitOk);
  const auto [parameters, bytes] = size_of(at("weights.onnx"));
  EXPECT_EQ(parameters, size_of(at("fp32.onnx")).first);
  // ONNX writes out constants of composite operators, in fp32.
  const auto [annotated, annotated_bytes] = size_of(at("weights.kir"));
  EXPECT_EQ(bytes - annotated_bytes, 4 * (parameters - annotated));
  // The images have no effect.
  const Outcome with =
      Call({"export", model, "-o", at("images.kir"), "--quantise", "fp32/int8", "--random", "2"});
  EXPECT_EQ(with.code, kExitOk) << with.err;
  EXPECT_EQ(*ReadFile(at("images.kir")), *ReadFile(at("weights.kir")));
  ASSERT_TRUE(
      WriteFile(at("biases.yaml"), "activations: {type: fp32}\ncorrect_biases: true\n").ok());
  for (const std::string& recipe : {std::string("int8"), at("biases.yaml")}) {
    const Outcome out = Call({"export", model, "-o", at("none.kir"), "--quantise", recipe});
    EXPECT_NE(out.code, kExitOk);
    EXPECT_THAT(out.err, HasSubstr("no data is named"));
  }
}

// Quant has no floats and no scales per block, so that such values are written in the other form.
TEST(Application, ExportSaysWhatQuantCannotExpress) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-export-qonnx");
  const auto notes = [&](const char* recipe, const char* quantisers) {
    const Outcome out =
        Call({"export", "models/demo_fashion_mnist.onnx", "-o", (folder.path() / "x.onnx").string(),
              "--quantise", recipe, "--random", "1", "--quantisers", quantisers});
    EXPECT_EQ(out.code, kExitOk) << out.err;
    return out.err;
  };
  EXPECT_THAT(notes("e4m3", "qonnx"),
              testing::ContainsRegex("note: [0-9]+ values are written as QuantizeLinear and "
                                     "DequantizeLinear \\('[^']*', e4m3, first\\), because"));
  EXPECT_THAT(notes("fp32/mxint8", "qonnx"), HasSubstr(", mxint8"));
  EXPECT_THAT(notes("e4m3", "qdq"), Not(HasSubstr("are written as QuantizeLinear")));
  EXPECT_THAT(notes("int8", "qonnx"), Not(HasSubstr("are written as QuantizeLinear")));
}

// Lists are often written with blanks.
TEST(Application, FormatsMayHaveBlanksAroundThem) {
  const Outcome out =
      Call({"accuracy", "models/demo_fashion_mnist.onnx", "--on", "systolic-int8-8x8", "--random",
            "1", "--formats", " int8, int7 ", "--json", "-"});
  ASSERT_EQ(out.code, kExitOk) << out.err;
  const auto rows = nlohmann::json::parse(out.out)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]["format"], "int8");
  EXPECT_EQ(rows[2]["format"], "int7");
  EXPECT_FALSE(rows[2].contains("fault"));
}

// Both count the parameters of the file; folding batch normalisations leaves fewer to run.
TEST(Application, RunAndInspectCountTheSameParameters) {
  const std::string model = "models/demo_fashion_mnist.onnx";
  const auto parameters = [](const Outcome& out) {
    EXPECT_EQ(out.code, kExitOk) << out.err;
    return nlohmann::json::parse(out.out);
  };
  const auto inspected = parameters(Call({"inspect", model, "--json", "-"}))["parameters"];
  const auto optimised = parameters(Call({"inspect", model, "--optimised", "--json", "-"}));
  EXPECT_NE(optimised["parameters"], inspected);
  for (const char* level : {"reference", "functional"}) {
    std::vector<std::string> arguments = {"run",      model, "--level", level,
                                          "--random", "1",   "--json",  "-"};
    if (level == std::string("functional"))
      arguments.insert(arguments.end(), {"--on", "systolic-int8-8x8"});
    EXPECT_EQ(parameters(Call(arguments))["model"]["parameters"], inspected) << level;
  }
}

// What is exported reads back, and counts as much.
TEST(Application, ExportsBothForms) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("kiln_export_test" + std::to_string(::getpid()));
  const auto counts = [](const std::string& model) {
    const Outcome json = Call({"inspect", model, "--json"});
    EXPECT_EQ(json.code, kExitOk) << json.err;
    const nlohmann::json parsed = nlohmann::json::parse(json.out);
    return std::pair(parsed["macs"], parsed["parameters"]);
  };
  const std::string model = "models/demo_fashion_mnist.onnx";
  for (const char* name : {"a.onnx", "a.kir"}) {
    const std::string path = folder / name;
    const Outcome out = Call({"export", model, "-o", path});
    ASSERT_EQ(out.code, kExitOk) << out.err;
    EXPECT_EQ(out.out, "");
    EXPECT_EQ(counts(path), counts(model)) << name;
  }
  const Outcome text = Call(
      {"export", model, "-o", "-", "--passes", "layout", "--quantise", "int8", "--random", "1"});
  ASSERT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("layout=\"nhwc\""));
  EXPECT_THAT(text.out, HasSubstr("quant int8"));
  // Quantised without a word on passes: after those that fold batch normalisation.
  const Outcome folded = Call({"export", model, "-o", "-", "--quantise", "int8", "--random", "1"});
  EXPECT_THAT(folded.out, Not(HasSubstr("batch_norm")));
  // Annotated before them: they leave what is rounded as it is, in every pattern that they know.
  const std::string early = folder / "early.kir";
  ASSERT_EQ(Call({"export", model, "-o", early, "--passes", "clean-up", "--quantise", "int8",
                  "--random", "1"})
                .code,
            0);
  const Outcome passes = Call({"passes", early, "--layout"});
  EXPECT_EQ(passes.code, kExitOk) << passes.err;
  std::filesystem::remove_all(folder);
}

TEST(Application, MakesFoldersAndWritesReports) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("kiln_application_test" + std::to_string(::getpid()));
  const std::string html = folder / "deep/run.html", json = folder / "run.json";
  const Outcome run = Call({"run", "models/demo_fashion_mnist.onnx", "--level", "reference",
                            "--random", "3", "--report", html, "--json", json});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr(html));
  EXPECT_THAT(*ReadFile(html), HasSubstr("<!DOCTYPE html>"));
  EXPECT_EQ(nlohmann::json::parse(*ReadFile(json))["data"]["source"], "random noise");
  std::filesystem::remove_all(folder);
}

// Before, parts of files had the process's number in their names: a FIFO there would wait for a
// reader, and a file is somebody's.
TEST(Application, LeavesAloneWhatIsNamedLikeAPartOfItsOutput) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-part-test");
  const std::string number = ".part" + std::to_string(::getpid());
  const std::string output = folder.path() / "run.json", fifo = output + number;
  const std::string other = folder.path() / "other.json", file = other + number;
  const std::string outputs = folder.path() / "out.npz", link = outputs + number;
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(folder.path() / "elsewhere", link);
  ASSERT_TRUE(WriteFile(file, "somebody's").ok());
  for (const std::string& json : {output, other}) {
    const Outcome run = Call({"run", "models/demo_fashion_mnist.onnx", "--level", "reference",
                              "--random", "1", "--json", json, "--outputs", outputs});
    ASSERT_EQ(run.code, kExitOk) << run.err;
    EXPECT_EQ(nlohmann::json::parse(*ReadFile(json))["data"]["source"], "random noise");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
  EXPECT_EQ(ReadFile(outputs)->substr(0, 2), "PK");
  EXPECT_EQ(*ReadFile(file), "somebody's");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            6);
}

// A sweep keeps its runs and the variants of --vary, and compare reads them.
TEST(Application, ASweepKeepsItsRuns) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const auto at = [&](const char* file) { return (folder.path() / file).string(); };
  const Outcome sweep = Call({"sweep",    "models/demo_fashion_mnist.onnx",
                              "--random", "1",
                              "--on",     "systolic-int8-8x8",
                              "--vary",   "input_port_bytes=8,32",
                              "--memory", "4GB/s,80ns",
                              "--under",  "5 ms",
                              "--rank",   "time",
                              "--runs",   at("runs"),
                              "--report", at("sweep.html"),
                              "--json",   "-"});
  ASSERT_EQ(sweep.code, kExitOk) << sweep.err;
  const auto json = nlohmann::json::parse(sweep.out);
  EXPECT_EQ(json["limit_seconds"], 5e-3);
  EXPECT_EQ(json["memory"], "4GB/s,80ns");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_THAT(*ReadFile(at("sweep.html")), HasSubstr("systolic-int8-8x8-input_port_bytes-32"));
  std::vector<std::string> compare = {"compare", "--json", "-"};
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["standing"], "ranked");
    const std::string run = "runs/" + row["design_point"].get<std::string>();
    EXPECT_THAT(*ReadFile(at((run + ".yaml").c_str())), HasSubstr("\ninput_port_bytes: "));
    compare.push_back(at((run + ".json").c_str()));
  }
  const Outcome compared = Call(compare);
  ASSERT_EQ(compared.code, kExitOk) << compared.err;
  const auto runs = nlohmann::json::parse(compared.out)["runs"];
  for (size_t r = 0; r < 2; ++r) EXPECT_EQ(runs[r]["cycles"], json["rows"][r]["cycles"]) << r;
  const Outcome text =
      Call({"sweep", "models/demo_fashion_mnist.onnx", "--random", "1", "--on", "systolic-int8-8x8",
            "--vary", "input_port_bytes=8", "--vary", "weight_port_bytes=8"});
  ASSERT_EQ(text.code, kExitOk) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1*  systolic-int8-8x8-input_port_bytes-8-weight_port_bytes-8"));
}

// A sweep overwrites neither its inputs nor its own results.
TEST(Application, ASweepKeepsOtherFiles) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-sweep-test");
  const auto at = [&](const char* file) { return (folder.path() / file).string(); };
  const std::string machine = *ReadFile("accelerators/systolic-int8-8x8.yaml");
  ASSERT_TRUE(WriteFile(at("a.yaml"), machine).ok());
  ASSERT_TRUE(WriteFile(at("a-input_port_bytes-16.yaml"), machine).ok());
  const auto sweep = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "sweep",  "models/demo_fashion_mnist.onnx", "--vary",   "input_port_bytes=16",
        "--runs", folder.path().string(),           "--random", "1",
        "--on"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Call(arguments);
  };
  for (const std::string& on :
       {at("a.yaml") + "," + at("a-input_port_bytes-16.yaml"), at("a.yaml")}) {
    EXPECT_EQ(sweep({on}).code, kExitError) << on;
    EXPECT_EQ(*ReadFile(at("a-input_port_bytes-16.yaml")), machine);
  }
  std::filesystem::remove(at("a-input_port_bytes-16.yaml"));
  EXPECT_EQ(sweep({at("a.yaml"), "--report", at("a-input_port_bytes-16.json")}).code, kExitError);
  // A design point that fails leaves no run of an earlier sweep.
  ASSERT_TRUE(WriteFile(at("b.yaml"), machine + "\nblock_size: 3\n").ok());
  ASSERT_TRUE(WriteFile(at("b-input_port_bytes-16.json"), "{}").ok());
  EXPECT_EQ(sweep({at("a.yaml") + "," + at("b.yaml")}).code, kExitOk);
  EXPECT_TRUE(std::filesystem::exists(at("a-input_port_bytes-16.json")));
  EXPECT_FALSE(std::filesystem::exists(at("b-input_port_bytes-16.json")));
}

// Every option that names an output file creates the folder of the file, too.
TEST(Application, FoldersOfOutputFilesAreCreated) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-folders-test");
  const auto at = [&](const char* file) { return (folder.path() / file).string(); };
  const Outcome run =
      Call({"run", "models/demo_fashion_mnist.onnx", "--on", "systolic-int8-16x16", "--random", "1",
            "--report", at("a/b/run.html"), "--json", at("c/run.json"), "--trace",
            at("d/trace.json"), "--outputs", at("e/f/out.npz")});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  const Outcome compare = Call({"compare", at("c/run.json"), at("c/run.json"), "--report",
                                at("g/compare.html"), "--json", at("h/compare.json")});
  ASSERT_EQ(compare.code, kExitOk) << compare.err;
  for (const char* file : {"a/b/run.html", "c/run.json", "d/trace.json", "e/f/out.npz",
                           "g/compare.html", "h/compare.json"}) {
    EXPECT_TRUE(std::filesystem::exists(at(file))) << file;
  }
}

// --outputs is checked before the run: its folder is created with the file, only a regular file of
// its kind is replaced, and nothing is written through a link.
TEST(Application, OutputsOfARunAppearOnlyWithItsResult) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-outputs-test");
  const std::filesystem::path at = folder.path();
  const auto run = [&](const std::string& model, const std::filesystem::path& outputs) {
    return Call({"run", model, "--level", "reference", "--random", "1", "--outputs", outputs});
  };
  ASSERT_TRUE(WriteFile(at / "net.kir", "not a network").ok());
  EXPECT_EQ(run(at / "net.kir", at / "new/out.npz").code, kExitError);
  EXPECT_FALSE(std::filesystem::exists(at / "new"));

  const std::string demo = "models/demo_fashion_mnist.onnx";
  ASSERT_TRUE(WriteFile(at / "weights.npy", "precious").ok());
  ASSERT_EQ(::mkfifo((at / "fifo.npz").c_str(), 0600), 0);
  std::filesystem::create_directory(at / "folder.npz");
  for (const char* bad : {"weights.npy", "weights.npy/out.npz", "fifo.npz", "folder.npz", "weights",
                          "weights.npz/"}) {
    const Outcome refused = run(demo, at / bad);
    EXPECT_EQ(refused.code, kExitError) << bad;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(refused.out, "") << bad;
  }
  EXPECT_EQ(*ReadFile(at / "weights.npy"), "precious");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(at), std::filesystem::directory_iterator()),
      4);

  ASSERT_EQ(run(demo, at / "new/out.npz").code, kExitOk);
  std::filesystem::create_symlink("new/out.npz", at / "link.npz");
  const std::string before = *ReadFile(at / "new/out.npz");
  EXPECT_EQ(before.substr(0, 2), "PK");
  ASSERT_TRUE(WriteFile(at / "new/out.npz", "precious").ok());
  const Outcome refused = run(demo, at / "link.npz");
  EXPECT_EQ(refused.code, kExitError);
  EXPECT_EQ(refused.err, "kiln: " + (at / "link.npz").string() +
                             ": is a link, and nothing is written through links; remove it or name "
                             "another file\n");
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(std::filesystem::is_symlink(at / "link.npz"));
  EXPECT_EQ(*ReadFile(at / "new/out.npz"), "precious");
}

// Every option that names a file to write refuses a link before long work, to whatever it leads.
TEST(Application, NothingIsWrittenThroughLinks) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-links-test");
  const std::filesystem::path victim = folder.path() / "victim";
  ASSERT_TRUE(WriteFile(victim, "precious").ok());
  const std::string demo = "models/demo_fashion_mnist.onnx";
  // The last argument is the option that takes the file.
  const std::vector<std::vector<std::string>> commands = {
      {"run", demo, "--level", "reference", "--random", "1", "--json"},
      {"run", demo, "--level", "reference", "--random", "1", "--report"},
      {"run", demo, "--level", "reference", "--random", "1", "--outputs"},
      {"compile", demo, "--on", "systolic-int8-8x8", "--random", "1", "--json"},
      {"verify", demo, "--on", "systolic-int8-8x8", "--random", "1", "--wave"},
      {"inspect", demo, "--json"},
      {"list", "keys", "systolic", "--json"},
      {"export", demo, "--output"}};
  for (const char* target : {"victim", "nowhere", "/dev/full"}) {
    for (std::vector<std::string> command : commands) {
      const std::string link =
          (folder.path() / (command[0] == "export" ? "link.kir" : "link.npz")).string();
      std::filesystem::remove(link);
      std::filesystem::create_symlink(target, link);
      command.back() += "=" + link;
      const Outcome refused = Call(command);
      EXPECT_EQ(refused.code, kExitError) << command[0] << " " << target;
      EXPECT_THAT(refused.err, HasSubstr(link + ": is a link")) << command[0] << " " << target;
      EXPECT_TRUE(std::filesystem::is_symlink(link));
    }
  }
  EXPECT_EQ(*ReadFile(victim), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
}

// The command on labelled noise: what it writes is a recipe that reads back, and JSON with the
// curve.
TEST(Application, MixedPrecisionWritesARecipeThatRunTakes) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("kiln_mixed_precision_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string images(12 * 28 * 28, '\0');
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<char>(i * i % 251);
  const std::string header("\0\0\x08\x03\0\0\0\x0c\0\0\0\x1c\0\0\0\x1c", 16);
  ASSERT_TRUE(WriteFile(folder / "images", header + images).ok());
  ASSERT_TRUE(WriteFile(folder / "labels", std::string("\0\0\x08\x01\0\0\0\x0c", 8) +
                                               std::string("\0\1\2\3\4\5\6\7\x08\x09\0\1", 12))
                  .ok());
  const std::string data = (folder / "images").string(), labels = (folder / "labels").string();
  const std::string recipe = (folder / "mixed.yaml").string();
  const Outcome found =
      Call({"mixed-precision", "models/demo_fashion_mnist.onnx", "--formats", "int8,int4",
            "--budget", "50", "--data", data, "--labels", labels, "--out", recipe, "--json", "-"});
  ASSERT_EQ(found.code, kExitOk) << found.err;
  EXPECT_EQ(found.err, "");
  const auto json = nlohmann::json::parse(found.out);
  EXPECT_GE(json["curve"].size(), 2u);
  EXPECT_TRUE(json["within_budget"].get<bool>());
  EXPECT_LT(json["curve"][json["chosen"].get<size_t>()]["cost"], json["curve"][0]["cost"]);
  // The layers by their names, in the JSON and in the recipe.
  const std::string written = ReadFile(recipe).value_or("");
  EXPECT_THAT(written, testing::Not(HasSubstr("position:")));
  bool stem = false;
  for (const auto& layer : json["layers"]) {
    const auto name = layer["layer"].get<std::string>();
    const bool is_changed = written.find("match: \"" + name + "\"") != std::string::npos;
    EXPECT_EQ(layer["format"].get<std::string>(), is_changed ? "int4" : "int8") << name;
    stem = stem || name.find("/stem/stem.0/Conv") != std::string::npos;
  }
  EXPECT_TRUE(stem);
  const Outcome run =
      Call({"run", "models/demo_fashion_mnist.onnx", "--on", "systolic-int8-8x8", "--quantise",
            recipe, "--data", data, "--labels", labels, "--no-host", "--cycle-limit", "0"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  std::filesystem::remove_all(folder);
}

// The program beside this one, its standard output and error sent to files: its exit code.
int RunInShell(const std::string& arguments, const std::string& out, const std::string& err,
               const std::string& before = "") {
  const auto kiln =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/kiln";
  const std::string command =
      fmt::format("{}'{}' {} > '{}' 2> '{}'", before, kiln.string(), arguments, out, err);
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// /dev/stdout leads where standard output does, be it a file, which is not begun anew.
TEST(Program, WritesToTheDescriptorsThatItHas) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-descriptors");
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  const std::string inspect = "inspect models/demo_fashion_mnist.onnx --json ";
  ASSERT_EQ(RunInShell(inspect + "-", out, err), kExitOk);
  const std::string json = *ReadFile(out);
  ASSERT_EQ(RunInShell("inspect models/demo_fashion_mnist.onnx", out, err), kExitOk);
  const std::string text = *ReadFile(out);
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_EQ(RunInShell(inspect + name, out, err), kExitOk) << *ReadFile(err);
    EXPECT_EQ(*ReadFile(out), text + json) << name;
  }
  EXPECT_EQ(RunInShell(inspect + "/dev/stderr", out, err), kExitOk);
  EXPECT_EQ(*ReadFile(err), json);
  EXPECT_EQ(RunInShell(inspect + "/dev/null", out, err), kExitOk);
  EXPECT_EQ(*ReadFile(out), text);
  EXPECT_EQ(RunInShell(inspect + "/dev/fd/77", out, err), kExitError);
  EXPECT_EQ(*ReadFile(err), "kiln: /dev/fd/77: is not open for writing; name a file\n");
}

// The signal that the system sends beyond the limit of a file's size does not end the program, so
// that it says what is wrong and removes what it has written.
TEST(Program, AFileBeyondTheLimitIsAnError) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-limit");
  const std::string out = folder.path() / "out", err = folder.path() / "err";
  const std::string results = folder.path() / "results", json = results + "/run.json";
  EXPECT_EQ(RunInShell("-q inspect models/demo_fashion_mnist.onnx --json '" + json + "'", out, err,
                       "ulimit -f 1; "),
            kExitError);
  EXPECT_EQ(*ReadFile(err),
            "kiln: " + json + ": could not be written in full; check the free space\n");
  EXPECT_TRUE(std::filesystem::is_empty(results));
}

// What cannot be written is an error of the program, whatever the command.
TEST(Program, FailsWhereStandardOutputCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  const auto folder =
      std::filesystem::temp_directory_path() / ("kiln_output_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string err = (folder / "err").string(), out = (folder / "out").string();
  for (const char* arguments : {"--help", "--version", "list accelerators", "list formats",
                                "inspect models/demo_fashion_mnist.onnx"}) {
    SCOPED_TRACE(arguments);
    EXPECT_EQ(RunInShell(arguments, "/dev/full", err), kExitError);
    EXPECT_EQ(*ReadFile(err), "kiln: standard output could not be written\n");
    EXPECT_EQ(RunInShell(arguments, out, err), kExitOk);
    EXPECT_EQ(*ReadFile(err), "");
    EXPECT_GT(std::filesystem::file_size(out), 0u);
  }
  // Another error stays what it was.
  EXPECT_EQ(RunInShell("no-such-command", "/dev/full", err), kExitUsage);
  EXPECT_EQ(RunInShell("inspect no-such-file.onnx", "/dev/full", err), kExitError);
  EXPECT_THAT(*ReadFile(err), HasSubstr("no-such-file.onnx"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kiln::cli
