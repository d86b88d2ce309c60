// Tests of trained networks: they load with every shape known and compute the reference outputs of
// ONNX Runtime. Those of TrainedModels are in tests/data; those of SharedModels need images or
// networks of the shared folder.
#include "kiln/frontend/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "kiln/execute/reference.h"
#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "tests/shared_folder.h"
#include "tests/test_data.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::string MustRead(const fs::path& path) {
  auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << MessageOf(bytes.status());
  return bytes.ok() ? *bytes : "";
}

// Raw little-endian fp32.
Tensor ReadFloats(const fs::path& path, Shape shape) {
  const std::string bytes = MustRead(path);
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  EXPECT_GE(static_cast<int64_t>(bytes.size()), tensor.num_bytes()) << path;
  if (static_cast<int64_t>(bytes.size()) >= tensor.num_bytes()) {
    std::memcpy(tensor.mutable_bytes(), bytes.data(), static_cast<size_t>(tensor.num_bytes()));
  }
  return tensor;
}

// Pixels of `count` images that begin at `offset` in a file, `stride` bytes apart, through
// `value(pixel, channel)`.
Tensor ReadImages(const fs::path& path, size_t offset, size_t stride, Shape shape,
                  const std::function<float(uint8_t, int)>& value) {
  const std::string bytes = MustRead(path);
  Tensor tensor(ElementType::kFloat32, shape);
  const size_t count = static_cast<size_t>(shape[0]), channels = static_cast<size_t>(shape[1]);
  const size_t plane = static_cast<size_t>(shape[2] * shape[3]);
  EXPECT_GE(bytes.size(), offset + (count - 1) * stride + channels * plane) << path;
  if (bytes.size() < offset + (count - 1) * stride + channels * plane) return tensor;
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < channels * plane; ++i) {
      tensor.data<float>()[n * channels * plane + i] =
          value(static_cast<uint8_t>(bytes[offset + n * stride + i]), static_cast<int>(i / plane));
    }
  }
  return tensor;
}

class TrainedModels : public testing::Test {
 protected:
  std::vector<Tensor> RunModel(const std::string& model, const Tensor& images) {
    fs::path path = fs::path("models") / model;
    if (!fs::exists(path)) path = TestData("models") / model;
    if (!fs::exists(path)) path = SharedFolder() / "models" / model;
    auto graph = LoadModel(path);
    EXPECT_TRUE(graph.ok()) << MessageOf(graph.status());
    if (!graph.ok()) return {};
    auto executor = ReferenceExecutor::Create(*graph);
    EXPECT_TRUE(executor.ok()) << MessageOf(executor.status());
    if (!executor.ok()) return {};
    const Tensor inputs[] = {images};
    auto outputs = (*executor)->RunBatch(inputs);
    EXPECT_TRUE(outputs.ok()) << MessageOf(outputs.status());
    return outputs.ok() ? *outputs : std::vector<Tensor>();
  }

  // Within `tolerance` of the greatest magnitude in each row.
  void ExpectRows(const std::vector<Tensor>& outputs, const Tensor& expected,
                  double tolerance = 1e-3) {
    ASSERT_FALSE(outputs.empty());
    const Tensor& value = outputs[0];
    ASSERT_EQ(value.size(), expected.size());
    const int64_t width = expected.shape()[1];
    for (int64_t row = 0; row < expected.shape()[0]; ++row) {
      double greatest = 0;
      for (int64_t i = 0; i < width; ++i)
        greatest = std::max(greatest, std::abs(expected.ValueAt(row * width + i)));
      for (int64_t i = 0; i < width; ++i) {
        ASSERT_NEAR(value.ValueAt(row * width + i), expected.ValueAt(row * width + i),
                    tolerance * greatest)
            << "row " << row << ", column " << i;
      }
    }
  }
};

class SharedModels : public TrainedModels {
 protected:
  void SetUp() override {
    shared_ = SharedFolder();
    if (shared_.empty()) GTEST_SKIP() << "needs KILN_SHARED";
  }
  fs::path Logits(const std::string& name) const {
    return shared_ / "data" / "reference_logits" / name;
  }

  fs::path shared_;
};

// Returns how many networks of the folder load with every shape known.
int CountKnownShapes(const fs::path& folder) {
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++models;
    const auto graph = LoadModel(entry.path());
    EXPECT_TRUE(graph.ok()) << MessageOf(graph.status());
    if (!graph.ok()) continue;
    for (const Value* value : graph->Values()) {
      EXPECT_TRUE(value->has_shape() && value->shape().IsKnown()) << value->name();
    }
    for (const auto& node : graph->nodes()) {
      for (const Op shape_arithmetic : {Op::kShape, Op::kGather, Op::kConstantOfShape}) {
        EXPECT_NE(node->op(), shape_arithmetic) << node->Describe();
      }
    }
  }
  return models;
}

TEST_F(TrainedModels, LoadWithEveryShapeKnown) {
  EXPECT_EQ(CountKnownShapes(TestData("models")), 7);
}
TEST_F(SharedModels, LoadWithEveryShapeKnown) {
  EXPECT_GE(CountKnownShapes(shared_ / "models"), 9);
}

constexpr int64_t kImages = 200;

// The first images of MNIST's test set, their pixels through `value`.
Tensor Digits(const std::function<float(uint8_t)>& value) {
  return ReadImages(TestData("mnist/t264-images-idx3-ubyte"), 16, 784, {kImages, 1, 28, 28},
                    [&](uint8_t pixel, int) { return value(pixel); });
}
Tensor DigitLogits(const std::string& name) {
  return ReadFloats(TestData("mnist") / name, {kImages, 10});
}

TEST_F(TrainedModels, Mnist8) {
  const Tensor images = Digits([](uint8_t p) { return static_cast<float>(p); });
  ExpectRows(RunModel("mnist-8.onnx", images), DigitLogits("mnist8_first264x10.bin"));
}

// The pairs that came with the network.
TEST_F(TrainedModels, Mnist8OnItsOwnTestData) {
  for (int set = 0; set < 3; ++set) {
    SCOPED_TRACE(set);
    const fs::path folder = TestData("mnist-8") / ("test_data_set_" + std::to_string(set));
    const auto input = ImportOnnxTensor(MustRead(folder / "input_0.pb"), "input_0.pb");
    const auto output = ImportOnnxTensor(MustRead(folder / "output_0.pb"), "output_0.pb");
    ASSERT_TRUE(input.ok() && output.ok());
    ExpectRows(RunModel("mnist-8.onnx", *input), *output);
  }
}

TEST_F(TrainedModels, VitMnist) {
  const Tensor images =
      Digits([](uint8_t p) { return (static_cast<float>(p) / 255.0f - 0.1307f) / 0.3081f; });
  ExpectRows(RunModel("vit_mnist.onnx", images), DigitLogits("vit_first264x10.bin"));
}

TEST_F(TrainedModels, TfcQonnx) {
  const Tensor images = Digits([](uint8_t p) { return static_cast<float>(p) / 255.0f; });
  ExpectRows(RunModel("tfc_2w2a_mnist_qonnx.onnx", images),
             DigitLogits("tfc_2w2a_first264x10.bin"));
}

TEST_F(SharedModels, Resnet20) {
  const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  const Tensor images = ReadImages(
      shared_ / "data" / "cifar10_test_lossless.bin", 1, 3073, {kImages, 3, 32, 32},
      [&](uint8_t p, int c) { return (static_cast<float>(p) / 255.0f - mean[c]) / deviation[c]; });
  ExpectRows(RunModel("resnet20_cifar10.onnx", images),
             ReadFloats(Logits("resnet20_lossless_1017x10.bin"), {kImages, 10}));
}

TEST_F(SharedModels, Resnet8) {
  const Tensor images =
      ReadImages(shared_ / "data" / "cifar10_test_lossless.bin", 1, 3073, {kImages, 3, 32, 32},
                 [](uint8_t p, int) { return static_cast<float>(p); });
  ExpectRows(RunModel("resnet8_cifar10_mlperftiny.onnx", images),
             ReadFloats(Logits("resnet8_prob_lossless_1017x10.bin"), {kImages, 10}));
}

TEST_F(TrainedModels, KeywordSpotting) {
  for (const std::string word : {"yes", "no", "silence", "noise"}) {
    SCOPED_TRACE(word);
    const fs::path kws = TestData("kws");
    ExpectRows(RunModel("dscnn_kws_mlperftiny.onnx",
                        ReadFloats(kws / (word + "_mfcc_49x10.bin"), {1, 1, 49, 10})),
               ReadFloats(kws / (word + "_dscnn_prob.bin"), {1, 12}));
  }
}

// Heat maps that models/evaluate_onnx.py computed. In other images sums that differ in their last
// bits may fall on two sides of a rounding, which moves a map by up to 2 % of its peak.
TEST_F(TrainedModels, Hourglass) {
  const Tensor images = ReadImages(TestData("hourglass/images.npy"), 128, 3 * 64 * 64,
                                   {4, 3, 64, 64}, [](uint8_t p, int) { return p / 256.0f; });
  const Tensor heat = ReadFloats(TestData("hourglass/heat_4x5x32x32.bin"), {4, 5 * 32 * 32});
  const std::vector<Tensor> outputs = RunModel("hourglass.onnx", images);
  ExpectRows(outputs, heat);
}

// Images that the network did not learn from. models/evaluate_onnx.py finds as many of them right.
TEST_F(SharedModels, BinaryResnet20) {
  constexpr int64_t kFirst = 8000, kRow = 3073;
  const fs::path path = shared_ / "data" / "cifar10_test.bin";
  const Tensor images = ReadImages(path, kFirst * kRow + 1, kRow, {kImages, 3, 32, 32},
                                   [](uint8_t p, int) { return p / 256.0f; });
  const std::string bytes = MustRead(path);
  const std::vector<Tensor> outputs = RunModel("binary_resnet20.onnx", images);
  ASSERT_EQ(outputs.size(), 1u);
  int correct = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const auto scores = outputs[0].data<float>().subspan(static_cast<size_t>(10 * i), 10);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    correct += best == bytes[static_cast<size_t>((kFirst + i) * kRow)] ? 1 : 0;
  }
  EXPECT_EQ(correct, 145);
}

TEST_F(SharedModels, SuperResolution) {
  const fs::path set = shared_ / "data" / "super_resolution" / "test_data_set_0";
  const auto input = ImportOnnxTensor(MustRead(set / "input_0.pb"), "input_0.pb");
  const auto output = ImportOnnxTensor(MustRead(set / "output_0.pb"), "output_0.pb");
  ASSERT_TRUE(input.ok() && output.ok());
  ExpectRows(RunModel("super_resolution_espcn3x.onnx", input->Reshaped({1, 1, 224, 224})),
             output->Reshaped({672, 672}));
}

TEST_F(SharedModels, Ultraface) {
  const std::string bytes = MustRead(shared_ / "data" / "ultraface" / "face0_320x240.ppm");
  ASSERT_GE(bytes.size(), 240u * 320u * 3u);
  const size_t header = bytes.size() - 240 * 320 * 3;
  Tensor image(ElementType::kFloat32, {1, 3, 240, 320});
  for (size_t i = 0; i < 240 * 320; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const auto pixel = static_cast<uint8_t>(bytes[header + i * 3 + c]);
      image.data<float>()[c * 240 * 320 + i] = (static_cast<float>(pixel) - 127.0f) / 128.0f;
    }
  }
  const std::vector<Tensor> outputs = RunModel("ultraface_rfb320.onnx", image);
  ASSERT_EQ(outputs.size(), 2u);
  const Tensor scores = ReadFloats(shared_ / "data" / "ultraface" / "face0_scores.bin", {4420, 2});
  const Tensor boxes = ReadFloats(shared_ / "data" / "ultraface" / "face0_boxes.bin", {4420, 4});
  ExpectRows({outputs[0]}, scores);
  ExpectRows({outputs[1]}, boxes);
}

TEST(LoadModel, ReadsKilnText) {
  const fs::path path =
      fs::temp_directory_path() / ("kiln_model_" + std::to_string(::getpid()) + ".kir");
  Graph graph("net");
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 2}});
  graph.MarkOutput(graph.AddNode(Op::kRelu, "relu", {x}, {"y"})->result());
  graph.SetType(graph.outputs()[0], {ElementType::kFloat32, Shape{1, 2}});
  ASSERT_TRUE(WriteFile(path, PrintGraph(graph)).ok());
  const auto again = LoadModel(path);
  fs::remove(path);
  ASSERT_TRUE(again.ok()) << MessageOf(again.status());
  EXPECT_EQ(PrintGraph(*again), PrintGraph(graph));
}

TEST(LoadModel, RefusesOtherExtensions) {
  const auto graph = LoadModel("net.tflite");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(
      MessageOf(graph.status()).find("net.tflite: is not a network by its extension '.tflite'"),
      std::string::npos);
}

// A property of the metadata is set or replaced, and nothing else of the file changes.
TEST(ModelWithMetadata, SetsOneProperty) {
  const fs::path folder =
      fs::temp_directory_path() / ("kiln_metadata_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path onnx = "models/fashion_mlp_w1a8.onnx", text = folder / "net.kir";
  const auto original = LoadModel(onnx);
  ASSERT_TRUE(original.ok()) << original.status();
  ASSERT_TRUE(WriteFile(text, PrintGraph(*original)).ok());
  for (const fs::path& model : {onnx, text}) {
    for (const char* key : {"kiln.preprocess", "kiln.other"}) {
      SCOPED_TRACE(model.string() + " " + key);
      const auto bytes = ModelWithMetadata(model, key, "scale=\"2\"\n");
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      const fs::path copy = folder / ("copy" + model.extension().string());
      ASSERT_TRUE(WriteFile(copy, *bytes).ok());
      auto loaded = LoadModel(copy);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EXPECT_EQ(loaded->metadata().at(key), "scale=\"2\"\n");
      loaded->metadata() = original->metadata();
      EXPECT_EQ(PrintGraph(*loaded), PrintGraph(*original));
    }
  }
  EXPECT_FALSE(ModelWithMetadata(folder / "none.onnx", "kiln.other", "x").ok());
  EXPECT_FALSE(ModelWithMetadata("models/README.md", "kiln.other", "x").ok());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kiln
