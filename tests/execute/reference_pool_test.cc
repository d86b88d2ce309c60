// Compares pools with their definition, window by window, over random shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "kiln/support/random.h"
#include "tests/execute/evaluate.h"

namespace kiln {
namespace {

struct Axis {
  int64_t input, kernel, stride, dilation, begin, end, output;
};

// One window of one channel: the average in binary64 or the greatest element; `at` reads the input
// at (row, column).
template <typename At>
double PoolWindow(const Axis& rows, const Axis& columns, int64_t oh, int64_t ow, bool average,
                  bool include_pad, const At& at) {
  double sum = 0, greatest = -INFINITY;
  int64_t inside = 0, places = 0;
  for (int64_t kh = 0; kh < rows.kernel; ++kh) {
    for (int64_t kw = 0; kw < columns.kernel; ++kw) {
      const int64_t h = oh * rows.stride - rows.begin + kh * rows.dilation;
      const int64_t w = ow * columns.stride - columns.begin + kw * columns.dilation;
      if (h >= rows.input + rows.end || w >= columns.input + columns.end) continue;
      ++places;
      if (h < 0 || h >= rows.input || w < 0 || w >= columns.input) continue;
      ++inside;
      sum += at(h, w);
      greatest = std::max(greatest, static_cast<double>(at(h, w)));
    }
  }
  if (!average) return greatest;
  return static_cast<float>(sum / static_cast<double>(include_pad ? places : inside));
}

TEST(ReferencePool, RandomPoolsMatchTheirDefinition) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const bool average = random.Below(2) == 0, nhwc = random.Below(2) == 0,
               include_pad = random.Below(2) == 0;
    const bool ceil_mode = random.Below(3) == 0;
    const int64_t batch = random.Between(1, 2), channels = random.Between(1, 5);
    Axis axes[2];
    for (Axis& a : axes) {
      a = {random.Between(5, 11),
           random.Between(1, 4),
           random.Between(1, 3),
           average ? 1 : random.Between(1, 2),
           0,
           0,
           0};
      a.begin = random.Between(0, a.kernel - 1);
      a.end = random.Between(0, a.kernel - 1);
      const int64_t extent = a.dilation * (a.kernel - 1) + 1,
                    room = a.input + a.begin + a.end - extent;
      if (room < 0) a.dilation = 1, a.kernel = 1;
      const int64_t span = a.input + a.begin + a.end - (a.dilation * (a.kernel - 1) + 1);
      a.output = (ceil_mode ? (span + a.stride - 1) / a.stride : span / a.stride) + 1;
      if (ceil_mode && (a.output - 1) * a.stride >= a.input + a.begin)
        --a.output;  // ONNX: starts in the end padding
    }
    const Axis &rows = axes[0], &columns = axes[1];
    const int64_t plane = rows.input * columns.input;
    Tensor x(ElementType::kFloat32, nhwc ? Shape{batch, rows.input, columns.input, channels}
                                         : Shape{batch, channels, rows.input, columns.input});
    for (float& v : x.data<float>()) v = static_cast<float>(random.Uniform(-1, 1));
    AttributeList attributes = {{"kernel_shape", Ints{rows.kernel, columns.kernel}},
                                {"strides", Ints{rows.stride, columns.stride}},
                                {"pads", Ints{rows.begin, columns.begin, rows.end, columns.end}},
                                {"ceil_mode", int64_t{ceil_mode ? 1 : 0}},
                                {"layout", std::string(nhwc ? "nhwc" : "nchw")}};
    if (average)
      attributes.push_back({"count_include_pad", int64_t{include_pad ? 1 : 0}});
    else
      attributes.push_back({"dilations", Ints{rows.dilation, columns.dilation}});
    const auto result = Evaluate(average ? Op::kAveragePool : Op::kMaxPool, {x}, attributes);
    ASSERT_TRUE(result.ok()) << MessageOf(result.status());
    const Tensor& y = (*result)[0];
    ASSERT_EQ(y.size(), batch * channels * rows.output * columns.output);
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t outputs = rows.output * columns.output;
      const int64_t pixel = nhwc ? i / channels % outputs : i % outputs,
                    c = nhwc ? i % channels : i / outputs % channels;
      const int64_t n = i / (outputs * channels);
      const auto at = [&](int64_t h, int64_t w) {
        const int64_t place = h * columns.input + w;
        return x.data<float>()[static_cast<size_t>(nhwc ? (n * plane + place) * channels + c
                                                        : (n * channels + c) * plane + place)];
      };
      ASSERT_EQ(y.data<float>()[static_cast<size_t>(i)],
                static_cast<float>(PoolWindow(rows, columns, pixel / columns.output,
                                              pixel % columns.output, average, include_pad, at)))
          << "element " << i;
    }
  }
}

}  // namespace
}  // namespace kiln
