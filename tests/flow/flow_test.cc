// Tests of Evaluate with a made-up accelerator that computes at the reference level and makes
// errors on request.
#include "kiln/flow/flow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kiln/execute/reference.h"
#include "kiln/flow/fidelity.h"
#include "kiln/flow/network_summary.h"
#include "kiln/flow/outputs.h"
#include "kiln/frontend/model.h"
#include "kiln/frontend/npz_writer.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/ir/text.h"
#include "kiln/ir/work.h"
#include "kiln/report/html.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"
#include "tests/targets/minimal/minimal.h"

namespace kiln {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FakeProgram final : public Program {
 public:
  explicit FakeProgram(int64_t images_at_once = 1) {
    images_at_once_ = images_at_once;
    kernels_.resize(1);
    kernels_[0].name = "fc";
    kernels_[0].unit = "matrix";
    kernels_[0].macs = kernels_[0].operations = 12;
  }
  std::string Print() const override { return "nothing\n"; }
  void MoveToHost() { kernels_[0].host_reason = "no unit computes it"; }
};

// `network` with one difference: images in `flipped` get their scores turned round.
class FakeAccelerator final : public Accelerator {
 public:
  explicit FakeAccelerator(const Graph& network) : network_(network) {}
  std::string_view family() const override { return "fake"; }
  const std::string& name() const override { return name_; }
  std::string Describe() const override { return "family: fake\n"; }
  std::vector<std::string> ActivationFormats() const override { return {"int8"}; }
  std::vector<std::string> WeightFormats() const override { return {"int8"}; }
  NamedRecipe OwnRecipe() const override { return {.name = "int8", .recipe = Int8Recipe()}; }
  StatusOr<std::unique_ptr<Program>> Compile(const Graph&, const CompileOptions&) const override {
    return std::make_unique<FakeProgram>();
  }
  StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                          const RunOptions& options) const override {
    if (options.level == Level::kCycle && !has_cycles)
      return UnsupportedAt("", "", "the fake has no cycle level", "");
    KILN_ASSIGN_OR_RETURN(auto reference, ReferenceExecutor::Create(network_));
    RunResult result;
    KILN_ASSIGN_OR_RETURN(result.outputs, reference->RunBatch(batch.inputs));
    if (flip) {
      for (float& score : result.outputs[0].data<float>()) score = -score;
    }
    result.codes = result.outputs;
    if (options.level == Level::kCycle) {
      result.trace.cycles = 7;
      result.trace.images = std::min(program.images_at_once(), batch.images());
      result.trace.kernels = {{.kernel = 0, .begin = 0, .end = 7, .macs = 12}};
      result.cycles_per_image.assign(static_cast<size_t>(batch.images()), 7);
      if (cycle_differs) {
        result.codes[0] = result.codes[0].Clone();
        result.codes[0].data<float>()[0] += 1;
      }
    }
    return result;
  }
  Status EmitRtl(const Program&, const FolderContent&,
                 const std::filesystem::path&) const override {
    return UnsupportedAt("", "", "no", "");
  }
  StatusOr<Cost> EstimateCost(int) const override { return UnsupportedAt("", "", "no", ""); }
  double PeakMacsPerCycle() const override { return 4; }

  bool has_cycles = true, cycle_differs = false, flip = false;

 private:
  const Graph& network_;
  std::string name_ = "fake-1";
};

class EvaluateTest : public testing::Test {
 protected:
  static constexpr int64_t kImages = 25;

  EvaluateTest() {
    network_.set_source("net.onnx");
    Value* x = network_.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
    std::vector<float> weights(12);
    Random random(1);
    for (float& w : weights) w = static_cast<float>(random.Uniform(-1, 1));
    Value* w = network_.AddConstant("w", Tensor::Of<float>({4, 3}, weights));
    Node* fc = network_.AddNode(Op::kMatMul, "fc", {x, w}, {"scores"});
    EXPECT_TRUE(InferShapes(network_).ok());
    network_.MarkOutput(fc->result());
  }

  // Noise, with the labels that the network itself gives but for every fifth, which is another.
  Images MakeImages() {
    ImageSettings settings;
    settings.random = kImages;
    StatusOr<Images> noise = OpenImages(settings, network_);
    EXPECT_TRUE(noise.ok()) << noise.status();
    const Tensor batch = (*noise->MakeBatch(0, kImages))[0];
    const auto reference = ReferenceExecutor::Create(network_);
    const auto scores = (*reference)->RunBatch(std::vector<Tensor>{batch});
    DataSet::Parts parts;
    parts.bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(batch.bytes()),
                                                static_cast<size_t>(batch.num_bytes()));
    parts.stride = 16;
    parts.count = kImages;
    parts.image_shape = Shape{4};
    parts.element = ElementType::kFloat32;
    for (int64_t i = 0; i < kImages; ++i) {
      const auto row = (*scores)[0].data<float>().subspan(static_cast<size_t>(3 * i), 3);
      const auto best =
          static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
      parts.labels.push_back(i % 5 == 0 ? (best + 1) % 3 : best);
    }
    const auto set =
        std::make_shared<const DataSet>("made.bin", DataFormat::kRaw, std::move(parts));
    auto reader = InputReader::OfImages(set, {}, *network_.inputs()[0], "net.onnx");
    EXPECT_TRUE(reader.ok()) << reader.status();
    Images images{set, {}, "none"};
    images.readers.push_back(*std::move(reader));
    images.source = set->source();
    return images;
  }

  StatusOr<RunReport> Run(const FakeAccelerator& accelerator, const EvaluateOptions& options) {
    const Images images = MakeImages();
    const FakeProgram program;
    RunReport report;
    DescribeModel(network_, ParametersOf(network_), &report);
    DescribeImages(images, &report);
    DescribeProgram(accelerator, "fake.yaml", program, &report);
    KILN_RETURN_IF_ERROR(Evaluate(network_, &accelerator, &program, images, options, {}, &report));
    return report;
  }

  Graph network_;
};

TEST_F(EvaluateTest, CountsInAnyChunks) {
  const FakeAccelerator accelerator(network_);
  for (int64_t chunk : {1, 3, 25, 1000}) {
    EvaluateOptions options;
    options.chunk = chunk;
    const auto report = Run(accelerator, options);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->fp32->images, kImages);
    EXPECT_EQ(report->fp32->correct, 20);
    EXPECT_EQ(report->quantised->correct, 20);
    EXPECT_EQ(report->agreement->correct, kImages);
    EXPECT_THAT(report->cycles_per_image, ElementsAre(7));
    EXPECT_EQ(report->compared_images, 1);
    EXPECT_EQ(report->different_images, 0);
    EXPECT_DOUBLE_EQ(Utilisation(*report).value(), 12.0 / (7 * 4));
    EXPECT_EQ(report->model.macs, 12);
    EXPECT_EQ(report->model.parameters, 12);
  }
}

TEST_F(EvaluateTest, TellsDisagreement) {
  FakeAccelerator accelerator(network_);
  accelerator.flip = true;
  const auto report = Run(accelerator, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->fp32->correct, 20);
  EXPECT_LT(report->quantised->correct, 20);
  EXPECT_EQ(report->agreement->correct,
            0);  // the greatest of three scores is the least once turned round
  EXPECT_NEAR(*report->output_sqnr_db(), -6.02, 0.01);  // the difference is twice the signal
}

// A program whose kernels all are on the host has no cycles, and levels have nothing to agree on.
TEST_F(EvaluateTest, ComparesNothingWhereTheHostRunsAll) {
  FakeAccelerator accelerator(network_);
  ImageSettings noise;
  noise.random = kImages;
  const auto images = OpenImages(noise, network_);
  ASSERT_TRUE(images.ok()) << images.status();
  FakeProgram program;
  program.MoveToHost();
  RunReport report;
  ASSERT_TRUE(Evaluate(network_, &accelerator, &program, *images, {}, {}, &report).ok());
  EXPECT_EQ(report.compared_images, 0);
  EXPECT_TRUE(report.cycles_per_image.empty());
  EXPECT_THAT(ToText(report),
              HasSubstr("no cycles: the accelerator runs no kernel of the network"));
  EXPECT_THAT(ToText(report), Not(HasSubstr("level agree")));
}

// Every output is judged by its own name, and only a network in the form of a classifier has
// classes to agree on.
TEST_F(EvaluateTest, JudgesEveryOutput) {
  Node* twice = network_.AddNode(Op::kAdd, "twice", {network_.outputs()[0], network_.outputs()[0]},
                                 {"doubled"});
  Attributes along_classes;
  along_classes.Set("axis", int64_t{1});
  Node* best =
      network_.AddNode(Op::kArgMax, "best", {network_.outputs()[0]}, {"class"}, along_classes);
  ASSERT_TRUE(InferShapes(network_).ok());
  network_.MarkOutput(twice->result());
  network_.MarkOutput(best->result());
  FakeAccelerator accelerator(network_);
  accelerator.flip = true;  // output 0 alone
  ImageSettings noise;
  noise.random = kImages;
  const auto images = OpenImages(noise, network_);
  ASSERT_TRUE(images.ok()) << images.status();
  RunReport report;
  const FakeProgram program;
  ASSERT_TRUE(Evaluate(network_, &accelerator, &program, *images, {}, {}, &report).ok());
  ASSERT_EQ(report.outputs.size(), 3u);
  EXPECT_EQ(report.outputs[0].name, "scores");
  EXPECT_NEAR(report.outputs[0].sqnr_db.value_or(0), -6.02, 0.01);
  EXPECT_EQ(report.outputs[0].equal_share, 0);
  EXPECT_EQ(report.outputs[1].name, "doubled");
  EXPECT_FALSE(report.outputs[1].sqnr_db.has_value());  // there is no noise
  EXPECT_EQ(report.outputs[1].equal_share, 1);
  EXPECT_EQ(report.outputs[2].name, "class");
  EXPECT_EQ(report.outputs[2].equal_share, 1);
  EXPECT_FALSE(report.agreement.has_value());  // three outputs, no labels
  EXPECT_THAT(ToText(report), HasSubstr("'scores': signal to quantisation noise -6.0 dB"));
  EXPECT_THAT(ToText(report), HasSubstr("'doubled': 100.00 % of the elements are equal"));
}

TEST(IsClassifier, AsksForOneVectorOfScores) {
  const auto classifies = [](const std::string& input, const std::string& operation,
                             const std::string& output) {
    const auto graph = ParseGraph(
        fmt::format("graph \"g\" {{\n  input %x : f32[{}]\n  %y = {} : f32[{}]\n  output %y\n}}",
                    input, operation, output),
        "g.kir");
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() && IsClassifier(*graph);
  };
  EXPECT_TRUE(classifies("1x3x4", "global_average_pool %x \"m\"", "1x3x1"));
  EXPECT_FALSE(
      classifies("1x1x3x4", "global_average_pool %x \"m\"", "1x1x1x1"));  // a single number
  EXPECT_FALSE(classifies("1x3x4", "relu %x \"r\"", "1x3x4"));            // per pixel
  EXPECT_FALSE(classifies("1x12", "relu %x \"r\"", "1x12"));              // an autoencoder
}

TEST_F(EvaluateTest, ComparesLevels) {
  FakeAccelerator accelerator(network_);
  accelerator.cycle_differs = true;
  EvaluateOptions options;
  options.cycle_limit = 4;
  const auto report = Run(accelerator, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->compared_images, 4);
  EXPECT_EQ(report->different_images, 1);
}

TEST_F(EvaluateTest, ComparesAsManyImagesAsAskedWhateverTheChunk) {
  const FakeAccelerator accelerator(network_);
  EvaluateOptions options;
  options.cycle_limit = 4;
  options.chunk = 1;
  const auto report = Run(accelerator, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->compared_images, 4);
  EXPECT_EQ(report->different_images, 0);
  EXPECT_EQ(report->cycles_per_image.size(), 4u);
}

TEST_F(EvaluateTest, MachinesThatWorkOnSeveralImagesAreFullUnlessToldOtherwise) {
  const FakeAccelerator accelerator(network_);
  const FakeProgram program(3);
  for (const int64_t limit : {0, 2}) {  // 0: not told
    EvaluateOptions options;
    if (limit > 0) options.cycle_limit = limit;
    RunReport report;
    ASSERT_EQ(Evaluate(network_, &accelerator, &program, MakeImages(), options, {}, &report),
              OkStatus());
    EXPECT_EQ(report.compared_images, limit > 0 ? limit : 3);
    EXPECT_EQ(report.trace->images, limit > 0 ? limit : 3);
    EXPECT_EQ(report.notes.size(), limit > 0 ? 1u : 0u);
  }
}

TEST_F(EvaluateTest, CycleLevelForAllImages) {
  const FakeAccelerator accelerator(network_);
  EvaluateOptions options;
  options.level = Level::kCycle;
  options.chunk = 10;
  options.limit = 22;
  const auto report = Run(accelerator, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->cycles_per_image.size(), 22u);
  EXPECT_EQ(report->trace->cycles, 7);
  EXPECT_EQ(report->compared_images, 0);
}

TEST_F(EvaluateTest, MissingCycleLevelIsANoteUnlessAskedFor) {
  FakeAccelerator accelerator(network_);
  accelerator.has_cycles = false;
  const auto report = Run(accelerator, {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_THAT(report->notes[0], HasSubstr("the fake has no cycle level"));
  EvaluateOptions options;
  options.cycle_limit = 1;
  EXPECT_FALSE(Run(accelerator, options).ok());
}

// Every image has two labels, and every chunk those of its own images.
TEST(Evaluate, PlacesHaveTheLabelsOfTheirImage) {
  constexpr int64_t kImages = 7;
  Graph network("net");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 3, 2}});
  Node* relu = network.AddNode(Op::kRelu, "relu", {x}, {"scores"});
  ASSERT_TRUE(InferShapes(network).ok());
  network.MarkOutput(relu->result());
  DataSet::Parts parts;
  std::vector<float> scores(kImages * 6, 0.0f);
  for (int64_t i = 0; i < kImages; ++i) {
    for (int64_t place = 0; place < 2; ++place) {
      const int64_t label = (i * i + place * (i % 2 + 1)) % 3;
      scores[static_cast<size_t>(i * 6 + label * 2 + place)] = 1;
      parts.labels.push_back(static_cast<int32_t>(label));
    }
  }
  parts.bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(scores.data()),
                                              scores.size() * sizeof(float));
  parts.stride = 6 * sizeof(float);
  parts.count = kImages;
  parts.image_shape = Shape{3, 2};
  parts.element = ElementType::kFloat32;
  parts.label_shape = Shape{2};
  const auto set = std::make_shared<const DataSet>("made.bin", DataFormat::kRaw, std::move(parts));
  auto reader = InputReader::OfImages(set, {}, *x, "net.onnx");
  ASSERT_TRUE(reader.ok()) << reader.status();
  Images images{set, {}, "none"};
  images.readers.push_back(*std::move(reader));
  const FakeAccelerator accelerator(network);
  const FakeProgram program;
  for (const int64_t chunk : {1, 3, 7}) {
    EvaluateOptions options;
    options.chunk = chunk;
    options.cycle_limit = 0;
    RunReport report;
    ASSERT_EQ(Evaluate(network, &accelerator, &program, images, options, {}, &report), OkStatus());
    ASSERT_TRUE(report.quantised.has_value());
    EXPECT_EQ(report.quantised->correct, 2 * kImages) << chunk;
  }
}

// An output of another shape has no element in common with the reference, whatever its size.
TEST(Fidelity, AnotherShapeIsNotEqual) {
  Graph network("net");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{2, 3}});
  network.MarkOutput(network.AddNode(Op::kRelu, "relu", {x}, {"y"})->result());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto share = [&](Shape shape) {
    Fidelity fidelity(network);
    fidelity.Add({Tensor::Of<float>({2, 3}, values)}, {Tensor::Of<float>(shape, values)});
    return fidelity.Report()[0].equal_share;
  };
  EXPECT_EQ(share({2, 3}), 1);
  EXPECT_EQ(share({3, 2}), 0);
}

TEST(Summarise, SaysWhetherAllShapesAreKnown) {
  Graph network("net");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
  Value* w = network.AddConstant("w", Tensor::Of<float>({4, 3}, std::vector<float>(12, 1.0f)));
  network.MarkOutput(network.AddNode(Op::kMatMul, "fc", {x, w}, {"y"})->result());
  EXPECT_FALSE(Summarise(network).macs_known);
  ASSERT_TRUE(InferShapes(network).ok());
  EXPECT_TRUE(Summarise(network).macs_known);
  EXPECT_EQ(Summarise(network).macs, 12);
  EXPECT_EQ(Summarise(network).parameters, 12);
}

// Data of an archive that cannot be judged, or that the machine cannot hold, run with a remark.
TEST(FlowTest, OddDataAreRemarkedOn) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  Graph network("net");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 3}});
  network.MarkOutput(network.AddNode(Op::kRelu, "relu", {x}, {"scores"})->result());
  ASSERT_TRUE(InferShapes(network).ok());
  const auto run = [&](std::vector<float> values, std::vector<int32_t> labels, bool named) {
    const auto path = folder.path() / "samples.npz";
    NpzWriter writer(path);
    EXPECT_TRUE(writer.AddTensor("x", Tensor::Of<float>({2, 3}, std::move(values))).ok());
    EXPECT_TRUE(writer.AddTensor("labels", Tensor::Of<int32_t>({2}, labels)).ok());
    EXPECT_TRUE(writer.Finish().ok());
    ImageSettings settings;
    settings.path = path;
    if (named) {
      settings.options.labels = folder.path() / "labels.txt";
      EXPECT_TRUE(
          WriteFile(settings.options.labels.string(), fmt::format("{}\n{}\n", labels[0], labels[1]))
              .ok());
    }
    const auto images = OpenImages(settings, network);
    EXPECT_TRUE(images.ok()) << images.status();
    const FakeAccelerator accelerator(network);
    const FakeProgram program;
    EvaluateOptions options;
    options.cycle_limit = 0;
    options.chunk = 1;
    RunReport report;
    const Status status = Evaluate(network, &accelerator, &program, *images, options, {}, &report);
    return std::pair(status, report);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  const auto [good, plain] = run({1, 0, 0, 0, 0, 1}, {0, 2}, false);
  ASSERT_EQ(good, OkStatus());
  EXPECT_EQ(plain.no_accuracy, "");
  EXPECT_THAT(plain.notes, testing::Not(testing::Contains(HasSubstr("NaN"))));

  const auto [unknown, no_accuracy] = run({1, 0, 0, 0, 0, 1}, {0, 3}, false);
  ASSERT_EQ(unknown, OkStatus());
  EXPECT_THAT(no_accuracy.no_accuracy, HasSubstr("image 1: label 3; the network tells 3 classes"));
  EXPECT_THAT(MessageOf(run({1, 0, 0, 0, 0, 1}, {0, 3}, true).first),
              HasSubstr("labels.txt: image 1: label 3"));

  const auto [ran, nan] = run({1, 0, 0, 0, kNan, kNan}, {0, 2}, false);
  ASSERT_EQ(ran, OkStatus());
  EXPECT_THAT(
      nan.notes,
      testing::ElementsAre(HasSubstr("samples.npz: image 1 has a NaN in input 'x'; where codes")));
}

TEST(FlowTest, ErrorsThatFollowFromDataNameTheFile) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  Graph network("net");
  network.set_source("net.onnx");
  Value* x = network.AddInput("x", {ElementType::kInt64, Shape{1, 2}});
  Value* table = network.AddConstant("table", Tensor::Of<float>({4, 1}, {1, 2, 3, 4}));
  network.MarkOutput(network.AddNode(Op::kGather, "look", {table, x}, {"y"})->result());
  ASSERT_TRUE(InferShapes(network).ok());
  const auto path = folder.path() / "ids.npz";
  NpzWriter writer(path);
  ASSERT_TRUE(writer.AddTensor("x", Tensor::Of<int64_t>({2, 2}, {0, 1, 3, 4})).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ImageSettings settings;
  settings.path = path;
  const auto images = OpenImages(settings, network);
  ASSERT_TRUE(images.ok()) << images.status();
  EvaluateOptions options;
  options.level = Level::kReference;
  RunReport report;
  EXPECT_EQ(MessageOf(Evaluate(network, nullptr, nullptr, *images, options, {}, &report)),
            path.string() +
                ": image 1: net.onnx: node 'look' (Gather): index 4 is outside axis 0 of 4x1; "
                "indices run from -4 to 3");
}

// A flat input takes pictures of as many elements: grey ones if it has one for each pixel.
TEST(FlowTest, FlatInputsTakePicturesOfTheirElements) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  const auto grey = folder.path() / "grey", colours = folder.path() / "colours";
  std::filesystem::create_directories(grey);
  std::filesystem::create_directories(colours);
  std::string twelve, three_times;
  for (int i = 0; i < 12; ++i) {
    twelve += static_cast<char>(10 * i);
    three_times.append(3, static_cast<char>(10 * i));
  }
  ASSERT_TRUE(WriteFile((grey / "a.pgm").string(), "P5\n4 3\n255\n" + twelve).ok());
  ASSERT_TRUE(WriteFile((grey / "b.pgm").string(), "P5\n4 3\n255\n" + twelve).ok());
  ASSERT_TRUE(WriteFile((colours / "a.ppm").string(), "P6\n4 3\n255\n" + three_times).ok());
  const auto open = [](const std::filesystem::path& path, int64_t elements,
                       const char* preprocess = "") {
    Graph network("net");
    network.set_source("net.onnx");
    network.AddInput("x", {ElementType::kFloat32, Shape{1, elements}});
    ImageSettings settings;
    settings.path = path;
    settings.preprocess = preprocess;
    const auto images = OpenImages(settings, network);
    EXPECT_TRUE(images.ok()) << images.status();
    const auto batch = images->MakeBatch(0, images->size());
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? batch->front() : Tensor();
  };
  const Tensor two = open(grey, 12);
  ASSERT_EQ(two.shape(), (Shape{2, 12}));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(two.data<float>()[i], 10 * (i % 12)) << i;
  // Pixel after pixel is stored, and channel after channel taken.
  const Tensor coloured = open(grey, 36);
  ASSERT_EQ(coloured.shape(), (Shape{2, 36}));
  for (int64_t i = 0; i < 36; ++i) EXPECT_EQ(coloured.data<float>()[i], 10 * (i % 12)) << i;
  const Tensor from_colours = open(colours, 12);
  ASSERT_EQ(from_colours.shape(), (Shape{1, 12}));
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(from_colours.data<float>()[i], 10 * i) << i;
  EXPECT_EQ(open(grey, 4, "crop=2").shape(), (Shape{2, 4})) << "the pixels after crop";
}

// Samples are added in front of an input whose shape does not begin with 1.
TEST(FlowTest, InputsOfFixedSizeTakeSamplesOfThatSize) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  Graph network("net");
  network.set_source("net.onnx");
  network.AddInput("x", {ElementType::kFloat32, Shape{5, 8}});
  const auto open = [&](const Shape& shape) {
    const auto path = folder.path() / "samples.npz";
    NpzWriter writer(path);
    EXPECT_TRUE(writer.AddTensor("x", Tensor(ElementType::kFloat32, shape)).ok());
    EXPECT_TRUE(writer.Finish().ok());
    ImageSettings settings;
    settings.path = path;
    return OpenImages(settings, network);
  };
  const auto three = open({3, 5, 8});
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->size(), 3);
  EXPECT_EQ((*three->MakeBatch(0, 2))[0].shape(), (Shape{2, 5, 8}));
  EXPECT_THAT(
      MessageOf(open({10, 8}).status()),
      HasSubstr("is 10x8: 10 samples of 8; input 'x' of net.onnx takes 5x8; for N samples Nx5x8"));
}

// An archive's array "y" holds labels, but not where it is an input of the network.
TEST(FlowTest, InputsAreNoLabels) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  const auto path = folder.path() / "samples.npz";
  NpzWriter writer(path);
  ASSERT_TRUE(writer.AddTensor("x", Tensor::Of<float>({2, 4}, std::vector<float>(8, 1.0f))).ok());
  ASSERT_TRUE(writer.AddTensor("y", Tensor::Of<int32_t>({2}, std::vector<int32_t>{0, 1})).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ImageSettings settings;
  settings.path = path;
  Graph network("net");
  network.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
  const auto labelled = OpenImages(settings, network);
  ASSERT_TRUE(labelled.ok()) << labelled.status();
  EXPECT_EQ(labelled->set->labels().size(), 2u);
  network.AddInput("y", {ElementType::kInt32, Shape{1}});
  const auto inputs = OpenImages(settings, network);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->readers.size(), 2u);
  EXPECT_FALSE(inputs->set->has_labels());
}

TEST(OutputsFile, AValueThatIsAnOutputTwiceIsWrittenOnce) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  Graph network("net");
  Value* x = network.AddInput("x", {ElementType::kFloat32, Shape{1, 4}});
  Value* y = network.AddNode(Op::kRelu, "relu", {x}, {"y"})->result();
  ASSERT_TRUE(InferShapes(network).ok());
  network.MarkOutput(y);
  network.MarkOutput(y);
  OutputsFile file(folder.path() / "outputs.npz", false);
  ASSERT_EQ(file.Describe(network, nullptr), OkStatus());
  const Tensor values = Tensor::Of<float>({2, 4}, std::vector<float>(8, 1.0f));
  const std::vector<Tensor> outputs = {values, values};
  ASSERT_EQ(file.Add(outputs, {}, 2), OkStatus());
  ASSERT_EQ(file.Finish(), OkStatus());
  RunReport report;
  file.Report(&report);
  ASSERT_EQ(report.written.size(), 1u);
  EXPECT_EQ(report.written[0].array, "y");
}

TEST_F(EvaluateTest, OpenImagesNamesWhatDoesNotFit) {
  network_.AddInput("second", {ElementType::kFloat32, Shape{1}});
  ImageSettings settings;
  settings.random = 1;
  EXPECT_TRUE(OpenImages(settings, network_).ok());  // made up for both
  settings.random = 0;
  EXPECT_THAT(MessageOf(OpenImages(settings, network_).status()),
              HasSubstr("--data: no data is named; net.onnx takes x f32 1x4, second f32 1; give "
                        "--data FILE.npz"));
}

TEST(FlowTest, SaysThatPixelsAreNotPreprocessed) {
  Graph network("net");
  network.AddInput("x", {ElementType::kFloat32, Shape{1, 1, 28, 28}});
  ImageSettings settings;
  settings.path = "tests/errors/files/images-28x28.idx";
  const auto images = OpenImages(settings, network);
  ASSERT_TRUE(images.ok()) << images.status();
  std::vector<std::string> notes;
  settings.preprocess = "none";  // said
  NotePreprocess(settings, network, *images, &notes);
  EXPECT_TRUE(notes.empty());
  settings.preprocess = "";
  NotePreprocess(settings, network, *images, &notes);
  EXPECT_THAT(notes, testing::ElementsAre(
                         "pixels go in as they are stored, 0 to 255: the model's metadata name no "
                         "preprocessing; --preprocess names it, or none"));
  // How the file is laid out does not say how pixels are scaled.
  settings.preprocess = "layout=chw";
  const auto laid_out = OpenImages(settings, network);
  ASSERT_TRUE(laid_out.ok()) << laid_out.status();
  notes.clear();
  NotePreprocess(settings, network, *laid_out, &notes);
  EXPECT_THAT(notes, testing::ElementsAre(
                         "pixels go in as they are stored, 0 to 255: --preprocess names no scale, "
                         "mean or std; 'none,' before it says that none is meant"));
  for (const char* said : {"none,layout=chw", "layout=chw,scale=1/255"}) {
    settings.preprocess = said;
    notes.clear();
    NotePreprocess(settings, network, *OpenImages(settings, network), &notes);
    EXPECT_TRUE(notes.empty()) << said;
  }
  settings.preprocess = "";
  network.metadata()["kiln.preprocess"] = "scale=1/255";
  NotePreprocess(settings, network, *images, &notes);
  EXPECT_TRUE(notes.empty());
}

// A file without header has the network's own shape, whether its format is named or found out.
TEST(FlowTest, RawImagesHaveTheNetworksShape) {
  Graph network("net");
  network.AddInput("x", {ElementType::kFloat32, Shape{1, 2, 3}});
  const auto path =
      std::filesystem::temp_directory_path() / ("kiln_raw_" + std::to_string(::getpid()) + ".bin");
  ASSERT_TRUE(WriteFile(path, std::string(5 * 24, '\0')).ok());
  ImageSettings settings;
  settings.path = path;
  for (const DataFormat format : {DataFormat::kAuto, DataFormat::kRaw}) {
    settings.options.format = format;
    const auto images = OpenImages(settings, network);
    ASSERT_TRUE(images.ok()) << images.status();
    EXPECT_EQ(images->size(), 5);
    EXPECT_EQ(images->set->image_shape(), (Shape{2, 3}));
  }
  std::filesystem::remove(path);
}

// Who says how the file is laid out has not said that pixels are to go in unscaled.
TEST(FlowTest, PreprocessGoesOverTheModelsOwnKeyByKey) {
  Graph network("net");
  network.AddInput("x", {ElementType::kFloat32, Shape{1, 1, 28, 28}});
  network.metadata()["kiln.preprocess"] = "scale=1/255,mean=0.5";
  const auto with = [&](const std::string& text) {
    ImageSettings settings;
    settings.path = "tests/errors/files/images-28x28.idx";
    settings.preprocess = text;
    const auto images = OpenImages(settings, network);
    EXPECT_TRUE(images.ok()) << images.status();
    std::vector<std::string> notes;
    NotePreprocess(settings, network, *images, &notes);
    return std::pair(images->preprocess, notes);
  };
  EXPECT_EQ(with("").first, "scale=1/255,mean=0.5");
  EXPECT_TRUE(with("").second.empty());
  const auto [text, notes] = with("layout=chw");
  EXPECT_EQ(text, "scale=1/255,mean=0.5,layout=chw");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0],
              HasSubstr("is the model's own, scale=1/255,mean=0.5: images go in by " + text));
  for (const char* all : {"scale=2,mean=1", "none", "none,scale=2"}) {
    EXPECT_EQ(with(all).first, std::string(all).starts_with("none,") ? "scale=2" : all);
    EXPECT_TRUE(with(all).second.empty()) << all;
  }
  // Nonsense in the metadata keeps nobody from saying all of it.
  network.metadata()["kiln.preprocess"] = "gain=2";
  EXPECT_EQ(with("none,scale=2").first, "scale=2");
}

// A machine whose cycle level simulates the memory compares cycles behind every memory that does
// not stall at random: every machine that comes with Kiln. Other machines compare behind the ideal
// memory only.
TEST(FlowTest, CyclesCompareBehindMemoriesOfTheCycleLevel) {
  RtlOptions far, dram, stalls;
  far.memory_latency = 30;
  dram.dram_bytes_per_cycle = 8;
  dram.memory_latency = 1000;
  stalls.stall_probability = 0.1;
  EXPECT_EQ(far.followed_latency(), 30u);
  EXPECT_EQ(dram.followed_latency(), 0u);

  for (const char* name : {"systolic-int8-8x8-one-bus", "systolic-mxint8-16x16", "vta-default",
                           "se-4", "binary-small", "dataflow-small"}) {
    SCOPED_TRACE(name);
    const auto simulates = LoadAccelerator(std::string("accelerators/") + name + ".yaml");
    ASSERT_TRUE(simulates.ok()) << simulates.status();
    for (const RtlOptions& any : {RtlOptions{}, far, dram})
      EXPECT_EQ((*simulates)->UntimedReason(any), "");
    EXPECT_THAT((*simulates)->UntimedReason(stalls), HasSubstr("stall at random"));
  }

  const auto streams = minimal::Entry().parse("family: minimal\nname: m\n", "m");
  ASSERT_TRUE(streams.ok()) << streams.status();
  EXPECT_EQ((*streams)->UntimedReason({}), "");
  for (const RtlOptions& other : {far, dram})
    EXPECT_THAT((*streams)->UntimedReason(other), HasSubstr("simulates no memory"));
}

// The demo network with all its weights taken away: the same program in the same cycles.
TEST(FlowTest, WeightsMayBeAbsent) {
  FlowOptions options;
  options.model = "models/demo_fashion_mnist.onnx";
  options.accelerator = "accelerators/systolic-int8-16x16.yaml";
  options.images.random = 2;
  options.evaluate.level = Level::kCycle;
  options.evaluate.limit = 1;
  const auto with = RunFlow(options);
  ASSERT_TRUE(with.ok()) << with.status();

  auto graph = LoadModel(options.model);
  ASSERT_TRUE(graph.ok()) << graph.status();
  size_t taken = 0;
  for (Value* constant : graph->Constants()) {
    if (constant->element() != ElementType::kFloat32 || constant->shape().rank() == 0) continue;
    const bool weights =
        std::all_of(constant->users().begin(), constant->users().end(), [](const Node* user) {
          return user->op() == Op::kConv || user->op() == Op::kGemm || user->op() == Op::kMatMul ||
                 user->op() == Op::kBatchNormalization;
        });
    if (!weights) continue;
    graph->ReplaceAllUses(constant,
                          graph->AddInput(constant->name() + "_absent", constant->type()));
    ++taken;
  }
  graph->EraseUnusedConstants();
  ASSERT_GT(taken, 60u);
  const auto path = std::filesystem::temp_directory_path() /
                    ("kiln_absent_" + std::to_string(::getpid()) + ".kir");
  ASSERT_TRUE(WriteFile(path, PrintGraph(*graph)).ok());
  options.model = path;
  const auto without = RunFlow(options);
  std::filesystem::remove(path);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->cycles_per_image, with->cycles_per_image);
  EXPECT_EQ(without->kernels.size(), with->kernels.size());
  ASSERT_FALSE(without->notes.empty());
  EXPECT_NE(without->notes[0].find("weights are absent"), std::string::npos) << without->notes[0];
}

// Without a recipe a network is quantised in the accelerator's own formats, so it runs on the
// accelerator.
TEST(RunFlow, TheDefaultRecipeIsTheAcceleratorsOwn) {
  const std::vector<std::filesystem::path> design_points = ListResources("accelerators");
  ASSERT_GE(design_points.size(), 23u);
  for (const std::filesystem::path& design_point : design_points) {
    SCOPED_TRACE(design_point.string());
    FlowOptions options;
    options.model = "models/demo_fashion_mnist.onnx";
    options.accelerator = design_point;
    options.images.random = 1;
    const auto compiled = CompileFlow(options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    if (design_point.stem() == "cgra-grid-4x4") {  // it maps graphs; no machine of it is built
      EXPECT_TRUE(IsPartial(compiled->report));
      continue;
    }
    EXPECT_LT(HostShare(compiled->report), 0.08);
    EXPECT_FALSE(IsPartial(compiled->report));
    // Nothing is claimed that leaves a shared bus out.
    if (design_point.filename() == "systolic-int8-8x8-one-bus.yaml") {
      EXPECT_THAT(compiled->report.notes, testing::Contains(HasSubstr("the shared bus")));
      for (const KernelInfo& kernel : compiled->report.kernels)
        EXPECT_FALSE(kernel.certificate.optimal) << kernel.name;
      EXPECT_THAT(compiled->accelerator->EstimateCost(45)->missing,
                  testing::Contains("kiln_bus_turns"));
    }
    // Its name says all of it to --quantise.
    const NamedRecipe own = compiled->accelerator->OwnRecipe();
    EXPECT_EQ(compiled->report.quantisation->recipe, own.name);
    const auto named = FindRecipe(own.name);
    ASSERT_TRUE(named.ok()) << named.status();
    EXPECT_EQ(PrintRecipe(*named), PrintRecipe(own.recipe));
  }
}

// Formats that the accelerator does not have leave the network to the host: its cycles are not the
// network's.
TEST(RunFlow, FiguresOfAPartOfTheNetworkAreMarked) {
  FlowOptions options;
  options.model = "models/demo_fashion_mnist.onnx";
  options.accelerator = "systolic-e4m3-8x8";
  options.images.random = 1;
  options.recipe = "int8";
  options.evaluate.level = Level::kCycle;
  const auto partial = RunFlow(options);
  ASSERT_TRUE(partial.ok()) << partial.status();
  EXPECT_GT(HostShare(*partial), 0.5);
  EXPECT_THAT(ToText(*partial), ContainsRegex("time +[0-9,]+ cycles per image[^(]* \\(PARTIAL: "));
  EXPECT_THAT(ToText(*partial), ContainsRegex("energy +.*PARTIAL"));
  EXPECT_THAT(
      ToText(*partial),
      HasSubstr("the recipe of the accelerator's own formats is e4m3: leave out --quantise"));
  EXPECT_TRUE(nlohmann::json::parse(ToJson(*partial))["partial"].get<bool>());
  EXPECT_THAT(ToHtml(*partial), HasSubstr("(PARTIAL: "));

  options.recipe = "";
  const auto whole = RunFlow(options);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(ToText(*whole), Not(HasSubstr("PARTIAL")));
  EXPECT_FALSE(nlohmann::json::parse(ToJson(*whole))["partial"].get<bool>());
  EXPECT_THAT(ToHtml(*whole), Not(HasSubstr("PARTIAL")));
  EXPECT_GT(whole->cycles_per_image[0], 5 * partial->cycles_per_image[0]);
}

constexpr char kQdqNetwork[] = R"(graph "qdq" {
  input %x : f32[1x2]
  const %s : f32[] = [0.5]
  const %z : u8[] = [128]
  const %codes : i8[2x3] = [127, -128, 3, 4, 5, -6]
  const %ws : f32[3] = [0.5, 0.25, 1]
  const %wz : i8[3] = [0, 0, 0]
  %q = quantize_linear %x, %s, %z "quantise" : u8[1x2]
  %d = dequantize_linear %q, %s, %z "dequantise" : f32[1x2]
  %w = dequantize_linear %codes, %ws, %wz {axis=1} "weights" : f32[2x3]
  %y = matmul %d, %w "product" : f32[1x3]
  output %y
})";

// Rows and cards say what was asked for: a microscaled type is not its element's format, and a
// file's types may be many.
TEST(RunFlow, AQuantisedNetworkIsCalledByItsRecipe) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("kiln_recipe_" + std::to_string(::getpid()) + ".yaml");
  ASSERT_TRUE(WriteFile(path, "activations:\n  type: mxint8\nweights:\n  type: mxint8\n").ok());
  FlowOptions options;
  options.model = "models/demo_fashion_mnist.onnx";
  options.accelerator = "systolic-mxint8-8x8";
  options.images.random = 1;
  for (const auto& [recipe, name] : {std::pair<std::string, std::string>("mxint8", "mxint8"),
                                     {"e4m3/int8", "e4m3/int8"},
                                     {path.string(), path.stem().string()}}) {
    options.recipe = recipe;
    const auto compiled = CompileFlow(options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(compiled->report.quantisation->format, name);
    EXPECT_EQ(compiled->report.reference, "fp32");
    EXPECT_THAT(compiled->report.quantisation->calibration, HasSubstr("the first 1 image of"));
  }
  std::filesystem::remove(path);
}

// Advice is given where it helps: a network's own parameters in formats that the accelerator lacks
// must be replaced, which a recipe for the rest does not do; and where the accelerator has no
// kernels for the operators, no recipe helps.
TEST(RunFlow, APartialNetworkIsAdvisedWhatHelps) {
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-flow");
  ASSERT_TRUE(WriteFile(folder.path() / "qdq.kir", kQdqNetwork).ok());
  const auto path = folder.path() / "replace.yaml";
  ASSERT_TRUE(WriteFile(path,
                        "own_parameters: replace\nactivations: {format: e4m3, symmetric: true}\n"
                        "weights: {format: e4m3}\n")
                  .ok());
  FlowOptions options;
  options.model = folder.path() / "qdq.kir";
  options.accelerator = "systolic-e4m3-8x8";
  options.images.random = 2;
  for (const char* recipe : {"", "e4m3", "int8"}) {
    options.recipe = recipe;
    options.recipe_given = !options.recipe.empty();
    const auto kept = CompileFlow(options);
    ASSERT_TRUE(kept.ok()) << kept.status();
    EXPECT_TRUE(IsPartial(kept->report));
    EXPECT_THAT(kept->report.notes,
                testing::Contains(HasSubstr("own formats is e4m3, and what the network quantises "
                                            "itself is in others: own_parameters: replace")))
        << recipe;
    EXPECT_THAT(kept->report.notes, Not(testing::Contains(HasSubstr("--quantise names it"))));
  }
  options.recipe = path.string();
  const auto replaced = CompileFlow(options);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_FALSE(IsPartial(replaced->report));

  // An addition whose result is the network's output: the machine needs codes of it.
  const auto sum = folder.path() / "sum.kir";
  ASSERT_TRUE(WriteFile(sum,
                        "graph \"sum\" {\n  input %a : f32[1x64]\n  input %b : f32[1x64]\n"
                        "  %c = add %a, %b \"sum\" : f32[1x64]\n  output %c\n}\n")
                  .ok());
  const auto outputs = folder.path() / "outputs.yaml";
  FlowOptions addition;
  addition.model = sum;
  addition.accelerator = "se-4";
  addition.images.random = 2;
  const auto on_host = CompileFlow(addition);
  ASSERT_TRUE(on_host.ok()) << on_host.status();
  EXPECT_TRUE(IsPartial(on_host->report));
  EXPECT_THAT(on_host->report.notes, testing::Contains(HasSubstr(
                                         "own formats is int8, and it leaves the network's outputs "
                                         "in fp32: outputs: quantised in a file of that recipe")));
  Recipe with_outputs = *FindRecipe("int8");
  with_outputs.quantise_outputs = true;
  ASSERT_TRUE(WriteFile(outputs, PrintRecipe(with_outputs)).ok());
  addition.recipe = outputs.string();
  const auto on_machine = CompileFlow(addition);
  ASSERT_TRUE(on_machine.ok()) << on_machine.status();
  EXPECT_FALSE(IsPartial(on_machine->report));

  FlowOptions demo;
  demo.model = "models/demo_fashion_mnist.onnx";
  demo.accelerator = "cgra-grid-4x4";
  demo.images.random = 1;
  demo.recipe = "int4";
  const auto hopeless = CompileFlow(demo);
  ASSERT_TRUE(hopeless.ok()) << hopeless.status();
  EXPECT_TRUE(IsPartial(hopeless->report));
  EXPECT_THAT(hopeless->report.notes, Not(testing::Contains(HasSubstr("own formats is"))));
}

// A network that brings its own quantisation runs with it, wholly on the accelerator; a recipe only
// adds to it.
TEST(RunFlow, ANetworksOwnQuantisationIsUsedAsItIs) {
  const auto path =
      std::filesystem::temp_directory_path() / ("kiln_qdq_" + std::to_string(::getpid()) + ".kir");
  ASSERT_TRUE(WriteFile(path, kQdqNetwork).ok());
  FlowOptions options;
  options.model = path;
  options.accelerator = "accelerators/systolic-int8-16x16.yaml";
  options.images.random = 4;
  const auto own = RunFlow(options);
  options.recipe_given = true;
  const auto with_recipe = RunFlow(options);
  options.recipe_given = false;
  options.calibration_images = 2;
  const auto calibrated = RunFlow(options);
  std::filesystem::remove(path);
  ASSERT_TRUE(own.ok()) << own.status();
  ASSERT_TRUE(own->quantisation.has_value());
  EXPECT_EQ(own->quantisation->Describe(), "the network's own parameters");
  EXPECT_EQ(own->quantisation->format, "int8, uint8");
  EXPECT_EQ(own->reference, "reference");  // which rounds as the network says, and is no fp32
  EXPECT_THAT(own->notes, ElementsAre(HasSubstr(
                              "brings its own quantisation, which is used as it is: 1 activation "
                              "and 1 constant in int8, uint8")));
  EXPECT_FALSE(own->output_sqnr_db().has_value());  // no noise: the reference level's very values
  ASSERT_EQ(own->kernels.size(), 1u);
  EXPECT_EQ(own->kernels[0].unit, "matrix");

  ASSERT_TRUE(with_recipe.ok()) << with_recipe.status();
  EXPECT_THAT(with_recipe->notes,
              ElementsAre(HasSubstr("keeps its parameters (1 activation and 1 constant)")));
  EXPECT_THAT(with_recipe->quantisation->Describe(),
              HasSubstr("recipe int8, calibrated on the first 4 images"));

  EXPECT_THAT(MessageOf(calibrated.status()),
              HasSubstr("--calibration-images: the network brings its own quantisation, which "
                        "needs no calibration; "
                        "leave it out, or name a recipe for the rest with --quantise"));
}

}  // namespace
}  // namespace kiln
