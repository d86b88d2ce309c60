// Named graphs compute what their names say.

#include "kiln/targets/cgra/graph/named_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/graph/graph_file.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

ComputationGraph Make(std::string_view name) {
  auto graph = MakeNamedGraph(name);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Returns the outputs of one lane, by thread.
std::vector<std::vector<int32_t>> RunKernel(const ComputationGraph& graph,
                                            const std::vector<std::vector<int32_t>>& inputs) {
  std::vector<std::vector<Vector>> vectors;
  for (const std::vector<int32_t>& thread : inputs) {
    std::vector<Vector>& of_thread = vectors.emplace_back();
    for (const int32_t value : thread) of_thread.push_back({value});
  }
  std::vector<std::vector<int32_t>> outputs;
  const EvaluateOptions options{.threads = static_cast<int>(inputs.size()), .lanes = 1};
  for (const std::vector<Vector>& thread : Evaluate(graph, vectors, options).outputs) {
    std::vector<int32_t>& of_thread = outputs.emplace_back();
    for (const Vector& vector : thread) of_thread.push_back(vector[0]);
  }
  return outputs;
}

int Instructions(const ComputationGraph& graph) {
  int count = 0;
  for (int n = 0; n < std::ssize(graph.nodes); ++n) count += graph.TakesSlot(n) ? 1 : 0;
  return count;
}

TEST(NamedGraphsTest, EveryRowIsAGraphOfItsOwn) {
  std::set<std::string_view> names;
  for (const NamedGraph& row : NamedGraphs()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.what.empty());
    const ComputationGraph graph = Make(row.name);
    EXPECT_EQ(graph.name, row.name);
    const auto again = ParseGraphJson(PrintGraphJson(graph), "again");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintGraphJson(*again), PrintGraphJson(graph));
  }
  EXPECT_THAT(
      MessageOf(MakeNamedGraph("fur").status()),
      HasSubstr("there is no graph 'fur'; one of distance, vector-add, multiply-add, fft,"));
  for (const char* name : {"fir-0", "fir-65", "fir-", "fir-04", "fir-x", ""}) {
    EXPECT_FALSE(MakeNamedGraph(name).ok()) << name;
  }
}

TEST(NamedGraphsTest, Sums) {
  EXPECT_EQ(RunKernel(Make("vector-add"), {{3, 4}})[0][0], 7);
  EXPECT_EQ(RunKernel(Make("multiply-add"), {{3, 4, 5}})[0][0], 17);
  // The other point is (3, -4, 5).
  EXPECT_EQ(RunKernel(Make("distance"), {{4, 6, 2}})[0][0], 1 + 100 + 9);
  EXPECT_EQ(Instructions(Make("distance")), 8);  // seven where the last one multiplies and adds
}

TEST(NamedGraphsTest, Filters) {
  Random random(1);
  for (const int taps : {1, 4, 16, 64}) {
    std::vector<std::vector<int32_t>> inputs;
    for (int t = 0; t < 100; ++t) inputs.push_back({static_cast<int32_t>(random.Below(1000))});
    const auto outputs = RunKernel(Make("fir-" + std::to_string(taps)), inputs);
    for (int t = 0; t < 100; ++t) {
      int32_t sum = 0;
      for (int k = 0; k < taps && k <= t; ++k) {
        sum += (2 * k + 1) * inputs[static_cast<size_t>(t - k)][0];
      }
      EXPECT_EQ(outputs[static_cast<size_t>(t)][0], sum) << taps << " " << t;
    }
  }
}

// Butterflies against complex numbers; fixed-point numbers lose less than two units.
TEST(NamedGraphsTest, Butterflies) {
  Random random(2);
  for (const bool inverse : {false, true}) {
    for (int count = 1; count <= 4; ++count) {
      const std::string name =
          std::string(inverse ? "ifft" : "fft") + (count > 1 ? "-" + std::to_string(count) : "");
      const ComputationGraph graph = Make(name);
      EXPECT_EQ(Instructions(graph), count * (inverse ? 16 : 12)) << name;
      std::vector<int32_t> inputs;
      for (int i = 0; i < 4 * count; ++i) {
        inputs.push_back(static_cast<int32_t>(random.Between(-30000, 30000)));
      }
      const std::vector<int32_t> outputs = RunKernel(graph, {inputs})[0];
      // Finds inputs and outputs of butterfly k by name, in any order.
      const auto value = [&](const std::vector<int>& nodes, const std::vector<int32_t>& values,
                             const std::string& wanted) {
        for (size_t i = 0; i < nodes.size(); ++i) {
          if (graph.nodes[static_cast<size_t>(nodes[i])].name == wanted) return values[i];
        }
        ADD_FAILURE() << wanted;
        return 0;
      };
      const auto complex = [&](bool output, const std::string& what, int k) {
        const std::vector<int> nodes = output ? OutputsOf(graph) : InputsOf(graph);
        const std::vector<int32_t>& values = output ? outputs : inputs;
        return std::complex<double>(value(nodes, values, what + "r" + std::to_string(k)),
                                    value(nodes, values, what + "i" + std::to_string(k)));
      };
      for (int k = 0; k < count; ++k) {
        const double angle = (inverse ? 1 : -1) * M_PI / 4 * k;
        const std::complex<double> t = complex(false, "b", k) * std::polar(1.0, angle);
        const std::complex<double> a = complex(false, "a", k);
        const double scale = inverse ? 0.5 : 1;
        EXPECT_LT(std::abs(complex(true, "c", k) - (a + t) * scale), 3) << name;
        EXPECT_LT(std::abs(complex(true, "d", k) - (a - t) * scale), 3) << name;
      }
    }
  }
}

// 2^f is taken as 1 + f, which is 6.2 % too much at most; 8 bits after the point round as well.
TEST(NamedGraphsTest, SoftmaxPieces) {
  std::vector<std::vector<int32_t>> inputs;
  for (int t = 0; t < 50; ++t) inputs.push_back({(t * 37) % 64 - 20, 1024 - 16 * t});
  const ComputationGraph graph = Make("softmax-pieces");
  std::vector<std::string> names;
  for (const int node : OutputsOf(graph))
    names.push_back(graph.nodes[static_cast<size_t>(node)].name);
  const auto outputs = RunKernel(graph, inputs);
  int32_t maximum = -(1 << 30), sum = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    maximum = std::max(maximum, inputs[t][0]);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "running_maximum") {
        EXPECT_EQ(outputs[t][i], maximum);
      }
      if (names[i] == "exponentials") {
        const double exact = 256 * std::exp((inputs[t][1] - 1024) / 256.0);
        EXPECT_NEAR(outputs[t][i], exact, 0.062 * exact + 2) << t;
        sum += outputs[t][i];
      }
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "running_sum") {
        EXPECT_EQ(outputs[t][i], sum);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cgra
