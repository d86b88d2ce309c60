#include "kiln/targets/vta/run/waveform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "kiln/hardware/rtl_project.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/isa/memory_image.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBase = MemoryImage::kBase;

Instruction StoreOf(uint32_t element, uint32_t elements) {
  Instruction in;
  in.opcode = Opcode::kStore;
  in.memory = Memory::kOutput;
  in.dram_base = element;
  in.y_size = 1;
  in.x_size = in.x_stride = elements;
  return in;
}

// Four stores of two elements (16 bytes each) from `kBase` on, behind four loads and computations.
struct Example {
  Config config;
  std::vector<Instruction> program;
  LaunchOutcome outcome;

  Example() {
    const auto first = static_cast<uint32_t>(kBase / 16);
    for (uint32_t i = 0; i < 4; ++i) program.push_back(StoreOf(first + 2 * i, 2));
    outcome.time.cycles = 1'000;
    outcome.starts = {{{10, 20, 30, 40}, {100, 200, 300, 400}, {150, 350, 550, 750}}};
    outcome.memory.assign(128, 0);
    config.memory_latency = 16;
  }
  std::optional<CycleWindow> Compare(const LaunchOutcome& actual, bool timed = true) const {
    return FirstDifference(program, config, kBase, timed, outcome, actual);
  }
};

TEST(VtaFirstDifference, NoneInEqualLaunches) {
  const Example example;
  EXPECT_FALSE(example.Compare(example.outcome).has_value());
}

TEST(VtaFirstDifference, WrongBitsAreTheirStores) {
  const Example example;
  for (const size_t byte : {64u, 95u}) {  // the third store
    LaunchOutcome actual = example.outcome;
    actual.memory[byte] = 1;
    actual.memory[127] = 1;  // the fourth comes later
    const auto window = example.Compare(actual);
    ASSERT_TRUE(window.has_value());
    EXPECT_EQ(window->begin, 350);     // the second starts
    EXPECT_EQ(window->end, 750 + 32);  // the fourth does
  }
  LaunchOutcome actual = example.outcome;
  actual.memory[96] = 1;
  EXPECT_EQ(example.Compare(actual)->begin, 550);
  EXPECT_EQ(example.Compare(actual)->end, 1'000 + 32);
}

TEST(VtaFirstDifference, BytesThatNoStoreWritesAreTheWholeLaunch) {
  Example example;
  LaunchOutcome actual = example.outcome;
  actual.memory[127] = 1;
  example.program.pop_back();
  EXPECT_EQ(example.Compare(actual)->begin, 0);
  EXPECT_EQ(example.Compare(actual)->end, 1'000);
}

TEST(VtaFirstDifference, TheFirstStageThatStartsAtAnotherTimeCounts) {
  const Example example;
  LaunchOutcome actual = example.outcome;
  actual.starts[0][3] = 45;
  actual.starts[1][2] = 305;
  actual.time.cycles = 1'010;
  const auto window = example.Compare(actual);
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->begin, 20);
  EXPECT_EQ(window->end, 45 + 32);
  EXPECT_FALSE(example.Compare(actual, /*timed=*/false).has_value());
  // One that never starts.
  actual = example.outcome;
  actual.starts[2].pop_back();
  EXPECT_EQ(example.Compare(actual)->begin, 350);
}

TEST(VtaFirstDifference, CountersAlone) {
  const Example example;
  LaunchOutcome actual = example.outcome;
  actual.time.counters[Counter::kLoadPort] = 1;
  EXPECT_EQ(example.Compare(actual)->begin, 0);
  EXPECT_EQ(example.Compare(actual)->end, 1'000);
}

// ---- Hardware that is spoilt.

Config SmallMachine() {
  Config c;
  c.name = "small";
  c.block_in = c.block_out = 4;
  c.uop_buffer_bytes = 1 << 10;
  c.input_buffer_bytes = 1 << 10;
  c.weight_buffer_bytes = 1 << 12;
  c.accumulator_buffer_bytes = 1 << 12;
  c.memory_latency = 7;
  c.instruction_queue_depth = 16;
  return c;
}

// A pooling layer, and a convolution behind it if `convolution`.
Graph NetworkOf(bool convolution) {
  Graph graph("network");
  Value* y = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 8, 8, 4}});
  Attributes pool;
  pool.Set("kernel_shape", std::vector<int64_t>{2, 2});
  pool.Set("strides", std::vector<int64_t>{2, 2});
  pool.Set("layout", std::string("nhwc"));
  y = graph.AddNode(Op::kMaxPool, "pool", {y}, {"pooled"}, pool)->result();
  if (convolution) {
    Random random(1);
    Tensor weights(ElementType::kFloat32, Shape{4, 4, 1, 1});
    for (float& w : weights.data<float>()) w = static_cast<float>(random.Uniform(-1, 1));
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{1, 1});
    a.Set("layout", std::string("nhwc"));
    y = graph.AddNode(Op::kConv, "conv", {y, graph.AddConstant("w", weights)}, {"y"}, a)->result();
  }
  graph.MarkOutput(y);
  EXPECT_EQ(InferShapes(graph), OkStatus());
  return graph;
}

// Sets a variable of the environment while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

// A copy of the SystemVerilog library in which a GEMM unit subtracts.
void CopySpoiltLibrary(const fs::path& to) {
  const auto library = hardware::RtlLibrary();
  ASSERT_TRUE(library.ok()) << library.status();
  fs::copy(*library, to, fs::copy_options::recursive);
  const fs::path gemm = to / "vta" / "kiln_vta_gemm.sv";
  std::string text = *ReadFile(gemm);
  const std::string right = "] + ACCUMULATOR_BITS'(sum)";
  const size_t at = text.find(right);
  ASSERT_NE(at, std::string::npos);
  text[at + 2] = '-';
  ASSERT_TRUE(WriteFile(gemm, text).ok());
}

TEST(VtaRecordDifference, RecordsTheLayerThatDiffers) {
  auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  CopySpoiltLibrary(folder->path() / "rtl");
  const Environment library("KILN_RTL", (folder->path() / "rtl").string());
  const fs::path wave = folder->path() / "wave.fst";
  for (const bool convolution : {false, true}) {
    const Graph graph = NetworkOf(convolution);
    const Batch images = RandomImages(graph, 1, 2);
    const Graph prepared = Prepare(graph.Clone(), images, Recipe());
    const auto program = CompileFor(prepared, SmallMachine());
    const auto waveform = RecordDifference(*program, images, {}, /*timed=*/true, wave);
    ASSERT_TRUE(waveform.ok()) << waveform.status();
    EXPECT_EQ(waveform->recorded, convolution);
    EXPECT_EQ(fs::exists(wave), convolution);
    if (!convolution) {
      // Both levels follow another latency.
      RtlOptions options;
      options.memory_latency = 3;
      const auto nearer = RecordDifference(*program, images, options, /*timed=*/true, wave);
      ASSERT_TRUE(nearer.ok()) << nearer.status();
      EXPECT_FALSE(nearer->recorded);
      continue;
    }
    EXPECT_EQ(program->kernels()[static_cast<size_t>(waveform->kernel)].name, "conv");
    EXPECT_GT(waveform->end, waveform->begin);
    EXPECT_GT(fs::file_size(wave), 1'000u);
  }
}

// Before there is any hardware.
TEST(VtaRecordDifference, ALaunchThatTheCycleLevelStopsIsAnError) {
  const Graph graph = NetworkOf(/*convolution=*/false);
  const Batch images = RandomImages(graph, 1, 2);
  const auto program = CompileFor(Prepare(graph.Clone(), images, Recipe()), SmallMachine());
  ASSERT_NE(program, nullptr);
  ProgramParts parts = program->parts();
  // A word that no stage can execute in place of the first instruction.
  const size_t at = parts.steps[0].launch->address - kBase;
  std::fill_n(parts.memory.begin() + static_cast<std::ptrdiff_t>(at), kInstructionBytes,
              uint8_t{0xff});
  const auto folder = TemporaryFolder::Create("kiln-test");
  ASSERT_TRUE(folder.ok());
  const auto waveform = RecordDifference(VtaProgram(std::move(parts)), images, {}, /*timed=*/true,
                                         folder->path() / "wave.fst");
  EXPECT_EQ(waveform.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(MessageOf(waveform.status()),
              testing::HasSubstr("layer 'pool': bad_opcode: instruction 0"));
  EXPECT_FALSE(fs::exists(folder->path() / "wave.fst"));
}

}  // namespace
}  // namespace kiln::vta
