// A graph for tests that verifies itself when it goes out of scope, so that no test can forget to.
#ifndef KILN_TESTS_IR_VERIFIED_GRAPH_H_
#define KILN_TESTS_IR_VERIFIED_GRAPH_H_

#include <gtest/gtest.h>

#include <utility>

#include "kiln/ir/graph.h"
#include "kiln/ir/verifier.h"

namespace kiln {

class VerifiedGraph : public Graph {
 public:
  VerifiedGraph() : Graph("test") {}
  explicit VerifiedGraph(Graph graph) : Graph(std::move(graph)) {}
  ~VerifiedGraph() {
    const Status status = Verify(*this);
    EXPECT_TRUE(status.ok()) << MessageOf(status);
  }
  VerifiedGraph(const VerifiedGraph&) = delete;
  VerifiedGraph& operator=(const VerifiedGraph&) = delete;
};

}  // namespace kiln

#endif  // KILN_TESTS_IR_VERIFIED_GRAPH_H_
