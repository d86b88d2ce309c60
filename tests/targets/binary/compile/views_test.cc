// Nodes that only move elements: of the machine's values they take no kernel; between nodes of the
// host they are the host's.

#include <gtest/gtest.h>

#include "kiln/ir/text.h"
#include "kiln/targets/binary/run_network.h"

namespace kiln::binary {
namespace {

TEST(Views, BetweenHostNodesBelongToTheHost) {
  const auto graph = ParseGraph(
      "graph \"net\" { input %x : f32[1x2x3]\n%e = exp %x \"e\" : f32[1x2x3]\n"
      "%t = transpose %e {perm=[0, 2, 1]} \"t\" : f32[1x3x2]\n%n = neg %t \"n\" : f32[1x3x2]\n"
      "output %n }",
      "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  Config config;
  config.name = "machine";
  const auto program = CompileNetwork(*graph, config, {});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& network = static_cast<const NetworkProgram&>(**program);
  EXPECT_EQ(network.hosts().size(), 1);
  EXPECT_TRUE(network.views().empty());
  const Batch batch{{Tensor::Of<float>(Shape{1, 2, 3}, {0, 0, 0, 0, 0, 0})}};
  const auto result = RunNetwork(network, batch, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outputs[0].shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(result->outputs[0].ValueAt(0), -1);
}

}  // namespace
}  // namespace kiln::binary
