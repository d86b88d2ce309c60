// Compares the speed of the reference executor's convolutions and products with oneDNN's.
//
// Runs each layer on one thread in alternating rounds and prints the least processor time of both,
// and their ratio. oneDNN gets its operands in its preferred layouts and is not charged for
// reordering them; the executor pads, packs and allocates as in a network. oneDNN's order of sums
// depends on the processor, which is why Kiln does not use it.
//
//   build/bench/fp32_speed_bench [seconds a layer]
//   KILN_CPU=avx2 DNNL_MAX_CPU_ISA=AVX2 build/bench/fp32_speed_bench
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "dnnl.hpp"
#include "kiln/execute/reference.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/support/check.h"
#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

using dnnl::memory;

// A square convolution with same padding, or a product.
struct Layer {
  const char* name;
  int64_t channels, size, outputs, kernel, stride, groups;
  bool nhwc;
};

constexpr Layer kLayers[] = {
    {"3x3 16->16 @32", 16, 32, 16, 3, 1, 1, false},
    {"3x3 64->64 @8", 64, 8, 64, 3, 1, 1, false},
    {"7x7/2 3->64 @224", 3, 224, 64, 7, 2, 1, false},
    {"3x3 64->64 @56", 64, 56, 64, 3, 1, 1, false},
    {"3x3/2 64->128 @56", 64, 56, 128, 3, 2, 1, false},
    {"3x3 256->256 @14", 256, 14, 256, 3, 1, 1, false},
    {"3x3 512->512 @7", 512, 7, 512, 3, 1, 1, false},
    {"1x1 256->64 @56", 256, 56, 64, 1, 1, 1, false},
    {"1x1 1024->256 @14", 1024, 14, 256, 1, 1, 1, false},
    {"3x3 depthwise 144 @56", 144, 56, 144, 3, 1, 144, false},
    {"3x3 64->64 @56 nhwc", 64, 56, 64, 3, 1, 1, true},
    {"3x3 256->256 @14 nhwc", 256, 14, 256, 3, 1, 1, true},
    {"3x3 depthwise 144 @56 nhwc", 144, 56, 144, 3, 1, 144, true},
};

template <typename Work>
// Returns the processor time of one call.
double CpuSeconds(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// One layer on oneDNN, prepared so that only its execution is timed.
class OneDnnLayer {
 public:
  explicit OneDnnLayer(const Layer& l) {
    const int64_t pad = l.kernel / 2, out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
    const auto any = [](memory::dims dims) {
      return memory::desc(std::move(dims), memory::data_type::f32, memory::format_tag::any);
    };
    memory::dims weights = {l.outputs, l.channels / l.groups, l.kernel, l.kernel};
    if (l.groups > 1) {
      weights[0] /= l.groups;
      weights.insert(weights.begin(), l.groups);
    }
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        any({1, l.channels, l.size, l.size}), any(weights), any({1, l.outputs, out, out}),
        {l.stride, l.stride}, {pad, pad}, {pad, pad});
    const dnnl::convolution_forward::primitive_desc pd(desc, engine_);
    primitive_ = dnnl::convolution_forward(pd);
    for (const auto& [argument, d] : {std::pair(DNNL_ARG_SRC, pd.src_desc()),
                                      {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                      {DNNL_ARG_DST, pd.dst_desc()}}) {
      memory m(d, engine_);
      std::fill_n(static_cast<float*>(m.get_data_handle()), d.get_size() / sizeof(float), 0.5f);
      arguments_.emplace(argument, m);
    }
  }
  void Run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

// Times one layer on both and adds the logarithm of the ratio to *log_sum.
void Compare(const Layer& l, double seconds, double* log_sum) {
  Random random(1);
  Graph graph("layer");
  const Shape shape =
      l.nhwc ? Shape{1, l.size, l.size, l.channels} : Shape{1, l.channels, l.size, l.size};
  Value* x = graph.AddInput("x", {ElementType::kFloat32, shape});
  Value* w = graph.AddConstant(
      "w", RandomTensor(random, ElementType::kFloat32,
                        {l.outputs, l.channels / l.groups, l.kernel, l.kernel}, -1, 1));
  Attributes attributes;
  attributes.Set("strides", std::vector<int64_t>{l.stride, l.stride});
  attributes.Set("pads", std::vector<int64_t>(4, l.kernel / 2));
  attributes.Set("group", l.groups);
  attributes.Set("layout", std::string(l.nhwc ? "nhwc" : "nchw"));
  graph.MarkOutput(graph.AddNode(Op::kConv, "conv", {x, w}, {"y"}, attributes)->result());
  const std::vector<Tensor> input = {RandomTensor(random, ElementType::kFloat32, shape, -1, 1)};
  const auto executor = ReferenceExecutor::Create(graph);
  KILN_CHECK(executor.ok());
  OneDnnLayer theirs(l);
  double ours_least = 1e9, theirs_least = 1e9;
  int64_t outputs = 0;
  const auto ours = [&] {
    const auto result = (*executor)->Run(input);
    KILN_CHECK(result.ok());
    outputs = (*result)[0].size();
  };
  ours();
  theirs.Run();
  const int repeats =
      std::max(1, static_cast<int>(0.01 / std::max(CpuSeconds([&] { theirs.Run(); }), 1e-6)));
  for (double spent = 0; spent < seconds;) {
    const double a = CpuSeconds([&] {
      for (int i = 0; i < repeats; ++i) ours();
    });
    const double b = CpuSeconds([&] {
      for (int i = 0; i < repeats; ++i) theirs.Run();
    });
    ours_least = std::min(ours_least, a / repeats);
    theirs_least = std::min(theirs_least, b / repeats);
    spent += a + b;
  }
  const double macs = static_cast<double>(outputs * l.channels / l.groups * l.kernel * l.kernel);
  *log_sum += std::log(theirs_least / ours_least);
  std::printf("  %-28s %9.1f %9.1f %8.2f\n", l.name, macs / ours_least * 1e-9,
              macs / theirs_least * 1e-9, theirs_least / ours_least);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 1);
  kiln::SetThreadCount(1);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  std::printf("one thread, %s\n  %-28s %9s %9s %8s\n",
              std::string(NameOf(kiln::GetCpuLevel())).c_str(), "", "GMAC/s", "oneDNN", "ratio");
  double log_sum = 0;
  for (const kiln::Layer& layer : kiln::kLayers) kiln::Compare(layer, seconds, &log_sum);
  std::printf("  %-28s %9s %9s %8.2f\n", "geometric mean", "", "",
              std::exp(log_sum / std::size(kiln::kLayers)));
}
