// Tests of networks with several inputs and with integer inputs, from --data to --outputs, as a
// user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/cli/application.h"
#include "kiln/frontend/data_named.h"
#include "kiln/frontend/npz_writer.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/file.h"

namespace kiln::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kWords = 6, kTokens = 8, kWidth = 4;

float TableAt(int64_t word, int64_t i) {
  return 0.25f * static_cast<float>(word - 2) + 0.125f * static_cast<float>(i);
}

// Looks words up, multiplies them by twice the identity, and sets what is masked to 0.
std::string Network() {
  std::vector<float> table, weights;
  for (int64_t word = 0; word < kWords; ++word) {
    for (int64_t i = 0; i < kWidth; ++i) table.push_back(TableAt(word, i));
  }
  for (int64_t i = 0; i < kWidth * kWidth; ++i)
    weights.push_back(i % (kWidth + 1) == 0 ? 2.0f : 0.0f);
  return fmt::format(R"(graph "tokens" {{
  input %words/ids : i64[1x8]
  input %mask : i64[1x8]
  const %table : f32[6x4] = [{}]
  const %w : f32[4x4] = [{}]
  const %last : i64[1] = [2]
  %rows = gather %table, %words/ids "embed" : f32[1x8x4]
  %product = matmul %rows, %w "product" : f32[1x8x4]
  %m = cast %mask {{to=1}} "cast" : f32[1x8]
  %mm = unsqueeze %m, %last "column" : f32[1x8x1]
  %out/scores = mul %product, %mm "masked" : f32[1x8x4]
  output %out/scores
}})",
                     fmt::join(table, ", "), fmt::join(weights, ", "));
}

// What it gives for element i of token t.
float Expected(int64_t word, int64_t mask, int64_t i) {
  return 2 * TableAt(word, i) * static_cast<float>(mask);
}

class InputsTest : public testing::Test {
 protected:
  InputsTest() {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("kiln_inputs_") + info->name() + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(WriteFile(folder_ / "net.kir", Network()).ok());
    for (int64_t i = 0; i < kSamples * kTokens; ++i) {
      ids_.push_back((i * 5 + i / kTokens) % kWords);
      mask_.push_back(i % kTokens < 5 ? 1 : 0);
    }
    const Shape shape{kSamples, kTokens};
    NpzWriter writer(folder_ / "data.npz");
    EXPECT_TRUE(writer.AddTensor("words%2Fids", Tensor::Of<int64_t>(shape, ids_)).ok());
    EXPECT_TRUE(writer.AddTensor("mask", Tensor::Of<int64_t>(shape, mask_)).ok());
    EXPECT_TRUE(writer.Finish().ok());
  }
  ~InputsTest() override {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome Call(std::vector<std::string> arguments) const {
    std::ostringstream out, err;
    const int code = Main(arguments, out, err, false);
    return {code, out.str(), err.str()};
  }
  Outcome Run(std::vector<std::string> more, const std::string& data = "data.npz") const {
    std::vector<std::string> all = {"run", At("net.kir"), "--data", At(data)};
    all.insert(all.end(), more.begin(), more.end());
    return Call(all);
  }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }

  template <typename T>
  std::vector<T> Read(const std::string& file, const std::string& array,
                      Shape* shape = nullptr) const {
    const auto arrays = NamedArrays::Open(folder_ / file);
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    if (!arrays.ok()) return {};
    for (size_t i = 0; i < arrays->names().size(); ++i) {
      if (arrays->names()[i] != array) continue;
      const auto set = arrays->Read(i);
      EXPECT_TRUE(set.ok()) << set.status();
      std::vector<T> out;
      for (int64_t s = 0; s < set->size(); ++s) {
        const auto bytes = set->Image(s);
        std::vector<T> sample(bytes.size() / sizeof(T));
        std::memcpy(sample.data(), bytes.data(), bytes.size());
        out.insert(out.end(), sample.begin(), sample.end());
      }
      if (shape != nullptr) *shape = set->image_shape();
      return out;
    }
    ADD_FAILURE() << file << " has no array " << array;
    return {};
  }

  std::vector<float> AllExpected() const {
    std::vector<float> out;
    for (size_t t = 0; t < ids_.size(); ++t) {
      for (int64_t i = 0; i < kWidth; ++i) out.push_back(Expected(ids_[t], mask_[t], i));
    }
    return out;
  }

  static constexpr int64_t kSamples = 5;
  std::filesystem::path folder_;
  std::vector<int64_t> ids_, mask_;
};

TEST_F(InputsTest, TheReferenceLevelGivesTheValues) {
  const Outcome outcome = Run({"--level", "reference", "--outputs", At("out.npz"), "--batch", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("out.npz: out%2Fscores f32 5x8x4\n"));
  EXPECT_THAT(outcome.out, HasSubstr("accuracy     none: " + At("data.npz") +
                                     " has no labels (--labels names them)"));
  Shape shape;
  EXPECT_EQ(Read<float>("out.npz", "out%2Fscores", &shape), AllExpected());
  EXPECT_EQ(shape, (Shape{kTokens, kWidth}));
}

// The same archive as a folder.
TEST_F(InputsTest, FoldersServeToo) {
  std::filesystem::create_directories(folder_ / "arrays");
  const auto write = [&](const char* name, const std::vector<int64_t>& values) {
    std::string bytes = *NpyHeader(ElementType::kInt64, {kSamples, kTokens});
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
    ASSERT_TRUE(WriteFile(folder_ / "arrays" / name, bytes).ok());
  };
  write("words%2Fids.npy", ids_);
  const Outcome missing = Run({"--level", "reference"}, "arrays");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err,
              HasSubstr("arrays: holds no array for mask i64 1x8, input of " + At("net.kir") +
                        "; name arrays as the inputs, first axis samples; there are words%2Fids"));
  write("mask.npy", mask_);
  const Outcome outcome = Run({"--level", "reference", "--outputs", At("out.npz")}, "arrays");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Read<float>("out.npz", "out%2Fscores"), AllExpected());
  // What is read must not be written over.
  EXPECT_THAT(Run({"--level", "reference", "--outputs", At("arrays/mask.npy")}, "arrays").err,
              HasSubstr("is read as well as written"));
}

// Look-ups run on the host, which the report says; codes mean the values; the cycle level writes
// the same file.
TEST_F(InputsTest, BothFamiliesRunThem) {
  for (const std::string machine : {"systolic-int8-8x8", "vta-pynq"}) {
    const Outcome outcome = Run({"--on", machine, "--quantise", "int8", "--outputs", At("out.npz"),
                                 "--codes", "--json", At("run.json")});
    ASSERT_EQ(outcome.code, 0) << machine << ": " << outcome.err;
    const auto json = nlohmann::json::parse(*ReadFile(folder_ / "run.json"));
    std::string reason;
    for (const auto& kernel : json["kernels"]) {
      if (kernel["name"].get<std::string>().find("embed") != std::string::npos)
        reason = kernel["host_reason"];
    }
    EXPECT_THAT(
        reason,
        HasSubstr("an embedding look-up: its indices 'words/ids' are known only at run time"))
        << machine;
    const auto& array = json["outputs_file"]["arrays"][0];
    EXPECT_EQ(array["output"], "out/scores");
    EXPECT_EQ(array["array"], "out%2Fscores");
    EXPECT_EQ(array["shape"], nlohmann::json({5, 8, 4}));

    const std::vector<float> values = Read<float>("out.npz", "out%2Fscores"),
                             expected = AllExpected();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 0.05) << machine << " " << i;
    const char* no_codes = "output 'out/scores' is not quantised and has no codes";
    if (array["codes"].is_null()) {
      EXPECT_THAT(outcome.out, HasSubstr(no_codes));
    } else {
      EXPECT_THAT(outcome.out, testing::Not(HasSubstr(no_codes)));
      const auto codes = Read<int8_t>("out.npz", "out%2Fscores.codes");
      const auto arrays = NamedArrays::Open(folder_ / "out.npz");
      EXPECT_THAT(arrays->names(), testing::Contains("out%2Fscores.scale"));
      ASSERT_EQ(codes.size(), values.size());
      // One scale for all: values over codes are the same wherever there are any.
      std::optional<float> scale;
      for (size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] == 0) {
          EXPECT_EQ(values[i], 0);
        } else {
          if (!scale.has_value()) scale = values[i] / static_cast<float>(codes[i]);
          EXPECT_EQ(values[i], *scale * static_cast<float>(codes[i]));
        }
      }
    }
    const Outcome cycle = Run({"--on", machine, "--quantise", "int8", "--level", "cycle",
                               "--outputs", At("cycle.npz"), "--codes"});
    ASSERT_EQ(cycle.code, 0) << machine << ": " << cycle.err;
    EXPECT_EQ(*ReadFile(folder_ / "cycle.npz"), *ReadFile(folder_ / "out.npz")) << machine;
  }
}

TEST_F(InputsTest, RandomSamplesAreValid) {
  const Outcome outcome = Call(
      {"run", At("net.kir"), "--on", "systolic-int8-8x8", "--quantise", "int8", "--random", "20"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(InputsTest, OneLineSaysWhatToGive) {
  const Outcome nothing = Call({"run", At("net.kir"), "--level", "reference"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_EQ(
      nothing.err,
      "kiln: --data: no data is named; " + At("net.kir") +
          " takes words/ids i64 1x8, mask i64 1x8; give --data FILE.npz or a folder of .npy files, "
          "arrays named as the inputs, first axis samples, or --random N for made-up values\n");
  NpzWriter wrong(folder_ / "wrong.npz");
  ASSERT_TRUE(wrong.AddTensor("mask", Tensor(ElementType::kUint64, {5, 8})).ok());
  ASSERT_TRUE(wrong.AddTensor("words%2Fids", Tensor(ElementType::kInt64, {5, 8})).ok());
  ASSERT_TRUE(wrong.Finish().ok());
  EXPECT_THAT(Run({"--level", "reference"}, "wrong.npz").err,
              HasSubstr("wrong.npz: array 'mask': holds u64; input 'mask' of " + At("net.kir") +
                        " takes i64; save it with .astype(numpy.int64)"));
  NpzWriter fewer(folder_ / "fewer.npz");
  ASSERT_TRUE(fewer.AddTensor("mask", Tensor(ElementType::kInt64, {4, 8})).ok());
  ASSERT_TRUE(fewer.AddTensor("words%2Fids", Tensor(ElementType::kInt64, {5, 8})).ok());
  ASSERT_TRUE(fewer.Finish().ok());
  EXPECT_THAT(Run({"--level", "reference"}, "fewer.npz").err,
              HasSubstr("array 'mask': holds 4 samples where"));
  const std::string one = *NpyHeader(ElementType::kUint8, {1, 1}) + "a";
  ASSERT_TRUE(WriteFile(folder_ / "one.npy", one).ok());
  EXPECT_THAT(Run({"--level", "reference"}, "one.npy").err,
              HasSubstr("one.npy: holds one array; "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.npz"));
}

// What an array named as labels holds instead is why there is no accuracy; only --labels asks for
// labels.
TEST_F(InputsTest, ArraysThatAreNoLabelsStopNothing) {
  const auto write = [&](const char* file, const char* name, const Tensor& tensor) {
    const Shape shape{kSamples, kTokens};
    NpzWriter writer(folder_ / file);
    ASSERT_TRUE(writer.AddTensor("words%2Fids", Tensor::Of<int64_t>(shape, ids_)).ok());
    ASSERT_TRUE(writer.AddTensor("mask", Tensor::Of<int64_t>(shape, mask_)).ok());
    ASSERT_TRUE(writer.AddTensor(name, tensor).ok());
    ASSERT_TRUE(writer.Finish().ok());
  };
  write("floats.npz", "y", Tensor(ElementType::kFloat32, {kSamples, 3}));
  const Outcome floats = Run({"--level", "reference"}, "floats.npz");
  EXPECT_EQ(floats.code, 0) << floats.err;
  EXPECT_THAT(floats.out, HasSubstr("accuracy     none: " + At("floats.npz") +
                                    ": array 'y': labels of shape 5x3 and "
                                    "type f32; labels are integers"));
  write("few.npz", "labels", Tensor(ElementType::kInt64, {kSamples - 1}));
  const Outcome few = Run({"--level", "reference"}, "few.npz");
  EXPECT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, HasSubstr("array 'labels': 4 labels for the 5 images of "));
  ASSERT_TRUE(WriteFile(folder_ / "labels.txt", "1\n2\n").ok());
  EXPECT_THAT(Run({"--level", "reference", "--labels", At("labels.txt")}, "floats.npz").err,
              HasSubstr("labels.txt: 2 labels for the 5 images of "));
  std::string shaped = *NpyHeader(ElementType::kInt32, {kSamples, 7});
  shaped.append(kSamples * 7 * sizeof(int32_t), '\0');
  ASSERT_TRUE(WriteFile(folder_ / "shaped.npy", shaped).ok());
  const Outcome other =
      Run({"--level", "reference", "--labels", At("shaped.npy"), "--json", At("other.json")},
          "floats.npz");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              testing::AllOf(HasSubstr("--labels: no output of the network is class scores for "
                                       "labels of 7"),
                             HasSubstr("leave it out to run without accuracy")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other.json"));
}

// Two elements other than 0 in the first two images, four in the third: one array has no room for
// all.
TEST_F(InputsTest, OutputsWhoseShapeDependsOnTheDataHaveAnArrayForEachImage) {
  ASSERT_TRUE(
      WriteFile(folder_ / "nz.kir",
                "graph \"nz\" {\n  input %x : f32[1x4]\n  %y = non_zero %x \"nz\" : i64[2x?]\n"
                "  output %y\n}\n")
          .ok());
  NpzWriter writer(folder_ / "x.npz");
  ASSERT_TRUE(
      writer.AddTensor("x", Tensor::Of<float>({3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1})).ok());
  ASSERT_TRUE(writer.Finish().ok());
  for (const std::vector<std::string>& level :
       {std::vector<std::string>{"--level", "reference"},
        {"--on", "systolic-int8-8x8", "--cycle-limit", "3"}}) {
    std::vector<std::string> command = {"run",       At("nz.kir"), "--data",
                                        At("x.npz"), "--outputs",  At("new/out.npz")};
    command.insert(command.end(), level.begin(), level.end());
    const Outcome outcome = Call(command);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("y.IMAGE i64 ?x?"));
    EXPECT_EQ(Read<int64_t>("new/out.npz", "y.0"), (std::vector<int64_t>{0, 0, 0, 2}));
    EXPECT_EQ(Read<int64_t>("new/out.npz", "y.1"), (std::vector<int64_t>{0, 0, 1, 3}));
    EXPECT_EQ(Read<int64_t>("new/out.npz", "y.2"), (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 2, 3}));
    std::filesystem::remove_all(folder_ / "new");
  }
}

// A label for each token, one of them void; the greatest of four scores is the last where the mask
// is 1.
TEST_F(InputsTest, AccuracyByToken) {
  std::vector<int32_t> labels(static_cast<size_t>(kSamples * kTokens), 3);
  labels[0] = 255;
  labels[1] = 2;  // among the two highest
  int64_t right = 0;
  for (size_t t = 2; t < labels.size(); ++t)
    right += mask_[t];  // a masked token's scores are equal: class 0
  NpzWriter writer(folder_ / "labelled.npz");
  const Shape shape{kSamples, kTokens};
  ASSERT_TRUE(writer.AddTensor("words%2Fids", Tensor::Of<int64_t>(shape, ids_)).ok());
  ASSERT_TRUE(writer.AddTensor("mask", Tensor::Of<int64_t>(shape, mask_)).ok());
  ASSERT_TRUE(writer.AddTensor("labels", Tensor::Of<int32_t>(shape, labels)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const Outcome outcome =
      Run({"--level", "reference", "--top-k", "2", "--confusion", "--json", "-"}, "labelled.npz");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  const auto& accuracy = json["accuracy"]["fp32"];
  EXPECT_EQ(accuracy["labels"], kSamples * kTokens - 1);
  EXPECT_EQ(accuracy["correct"], right);
  EXPECT_EQ(accuracy["top_k"]["k"], 2);
  EXPECT_EQ(accuracy["top_k"]["correct"], right + 1);
  // Token 1 is not masked. All tokens but it and the void one have label 3.
  ASSERT_EQ(mask_[1], 1);
  const nlohmann::json confusion = {
      {{"label", 2}, {"answer", 3}, {"count", 1}},
      {{"label", 3}, {"answer", 0}, {"count", kSamples * kTokens - 2 - right}},
      {{"label", 3}, {"answer", 3}, {"count", right}}};
  EXPECT_EQ(accuracy["confusion"], confusion);
  const std::string text = Run({"--level", "reference", "--confusion"}, "labelled.npz").out;
  EXPECT_THAT(text, HasSubstr("label  taken for  times  of the label\n"));
  EXPECT_TRUE(json["accuracy"]["none_because"].is_null());
  EXPECT_THAT(Run({"--level", "reference", "--top-k", "9"}, "labelled.npz").err,
              HasSubstr("--top-k: 9 of 4 classes"));
}

}  // namespace
}  // namespace kiln::cli
