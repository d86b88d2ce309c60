#include "kiln/targets/lower/sign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>

#include "fmt/format.h"
#include "kiln/ir/text.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

// The nodes of a sign with these numbers.
struct SignNumbers {
  const char* first = "1.2676506e+30";
  const char* second = "1.2676506e+30";
  const char* low = "-1";
  const char* added = "1";
  const char* size = "0.5";
  const char* more = "";
};

Graph SignOf(const SignNumbers& n) {
  auto graph = ParseGraph(
      fmt::format("graph \"net\" {{ input %x : f32[1x3]\n"
                  "const %f : f32[] = [{}]\nconst %g : f32[] = [{}]\nconst %l : f32[] = [{}]\n"
                  "const %h : f32[] = [1]\nconst %a : f32[] = [{}]\nconst %s : f32[] = [{}]\n"
                  "%1 = mul %x, %f : f32[1x3]\n%2 = clip %1, %l, %h : f32[1x3]\n"
                  "%3 = mul %2, %g : f32[1x3]\n%4 = add %3, %a : f32[1x3]\n"
                  "%5 = clip %4, %l, %h : f32[1x3]\n%y = mul %5, %s : f32[1x3]\noutput %y\n{} }}",
                  n.first, n.second, n.low, n.added, n.size, n.more),
      "net.kir");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

size_t NodesFrom(const Graph& graph, int node) {
  return SignFrom(graph, **std::next(graph.nodes().begin(), node)).size();
}

TEST(Sign, IsRecognised) {
  const Graph graph = SignOf({});
  const std::vector<const Node*> nodes = SignFrom(graph, **graph.nodes().begin());
  ASSERT_EQ(nodes.size(), kSignNodes);
  size_t at = 0;
  for (const auto& node : graph.nodes()) EXPECT_EQ(nodes[at++], node.get());
  EXPECT_EQ(SizeOfSign(nodes), 0.5);
  for (int i = 1; i < int{kSignNodes}; ++i) EXPECT_EQ(NodesFrom(graph, i), 0u) << i;
}

// 2^64 twice leaves the least subnormal near 0. A single value that another node or the user reads
// must stay.
TEST(Sign, OtherNodesAreNotASign) {
  EXPECT_EQ(NodesFrom(SignOf({.first = "1.8446744e+19", .second = "1.8446744e+19"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.first = "1", .second = "1.2676506e+38"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.first = "-1.2676506e+30"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.low = "0"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.added = "0.5"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.size = "-1"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.more = "output %2"}), 0), 0u);
  EXPECT_EQ(NodesFrom(SignOf({.more = "%6 = relu %4 : f32[1x3]\noutput %6"}), 0), 0u);
}

// Multiples of 2^-20, which integers of 64 bits hold exactly.
TEST(Sign, LeastSumIsExact) {
  Random random(1);
  int zeros = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t factor = random.Between(0, 1 << 20), sum = random.Between(-1000, 1000);
    const int64_t offset = -factor * sum + random.Between(-1, 1);
    const int64_t low = random.Between(-1200, 0), high = random.Between(0, 1200);
    int64_t least = low;
    while (least <= high && least * factor + offset < 0) ++least;
    zeros += least <= high && least * factor + offset == 0 ? 1 : 0;
    EXPECT_EQ(LeastNotNegative(std::ldexp(static_cast<double>(factor), -20),
                               std::ldexp(static_cast<double>(offset), -20), low, high),
              least)
        << factor << " " << offset << " " << low << " " << high;
  }
  EXPECT_GT(zeros, 100);
  // The product has 105 bits: rounded, it would be the offset.
  const double factor = 1 + 0x1p-52;
  EXPECT_EQ(LeastNotNegative(factor, -(0x1p52 + 1) * (1 + 0x1p-52), 0, int64_t{1} << 53),
            (int64_t{1} << 52) + 1);
}

}  // namespace
}  // namespace kiln
