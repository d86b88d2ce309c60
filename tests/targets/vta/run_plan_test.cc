// The host's share of a network beside launches: which pieces may, that they do, and what comes of
// errors.
#include "kiln/targets/vta/compile/run_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "kiln/ir/shape_inference.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "kiln/targets/vta/run/run_network.h"
#include "tests/targets/vta/compiled.h"

namespace kiln::vta {
namespace {

using Kind = Piece::Kind;

class NetworkBuilder {
 public:
  NetworkBuilder() : graph_("branches"), random_(3) {}
  Value* Input() { return graph_.AddInput("x", {ElementType::kFloat32, Shape{1, 16, 9, 9}}); }
  Value* Convolution(const std::string& name, Value* x) {
    Tensor weights(ElementType::kFloat32, Shape{16, 16, 3, 3});
    for (float& w : weights.data<float>()) w = static_cast<float>(random_.Uniform(-0.1, 0.1));
    Attributes a;
    a.Set("kernel_shape", std::vector<int64_t>{3, 3});
    a.Set("pads", std::vector<int64_t>{1, 1, 1, 1});
    return Node(Op::kConv, name, {x, graph_.AddConstant(name + "_weights", weights)}, a);
  }
  Value* Node(Op op, const std::string& name, std::vector<Value*> operands,
              const Attributes& a = {}) {
    return graph_.AddNode(op, name, std::move(operands), {name + "_y"}, a)->result();
  }
  Graph Done(Value* output) {
    graph_.MarkOutput(output);
    EXPECT_EQ(InferShapes(graph_), OkStatus());
    return std::move(graph_);
  }

 private:
  Graph graph_;
  Random random_;
};

// Behind a stem, a branch with an operator of the host, which stands first, and one of launches
// alone.
Graph TwoBranches() {
  NetworkBuilder b;
  Value* stem = b.Convolution("stem", b.Input());
  Value* behind = b.Convolution("behind", b.Node(Op::kSigmoid, "sigmoid", {stem}));
  Value* second = b.Convolution("second", b.Convolution("first", stem));
  return b.Done(b.Node(Op::kMax, "join", {behind, second}));
}

std::unique_ptr<VtaProgram> CompileWithHost(const Graph& prepared,
                                            const Config& config = PynqConfig()) {
  auto program = VtaAccelerator(config).Compile(prepared, {});
  EXPECT_TRUE(program.ok()) << program.status();
  return std::unique_ptr<VtaProgram>(dynamic_cast<VtaProgram*>(program->release()));
}

// Names of the layers of some pieces of a kind, in the plan's order.
std::vector<std::string> NamesOf(const VtaProgram& program, Kind kind,
                                 const std::vector<size_t>& pieces) {
  std::vector<std::string> names;
  for (const size_t i : pieces) {
    const Piece& piece = program.parts().plan.pieces[i];
    if (piece.kind == kind) names.push_back(program.kernels()[piece.step].name);
  }
  return names;
}

std::vector<size_t> All(const VtaProgram& program) {
  std::vector<size_t> all(program.parts().plan.pieces.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

TEST(RunPlan, LaunchesOfAnotherBranchStandBesideTheHostsOperator) {
  const Graph graph = TwoBranches();
  const auto program =
      CompileWithHost(Prepare(graph.Clone(), RandomImages(graph, 1, 1), Int8Recipe()));
  ASSERT_NE(program, nullptr);
  const RunPlan& plan = program->parts().plan;
  EXPECT_TRUE(plan.overlaps());
  EXPECT_EQ(NamesOf(*program, Kind::kLaunch, All(*program)),
            (std::vector<std::string>{"stem", "first", "second", "behind", "join"}));
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    if (plan.pieces[i].kind != Kind::kOperator) continue;
    EXPECT_EQ(NamesOf(*program, Kind::kLaunch, plan.beside[i]),
              (std::vector<std::string>{"first", "second"}));
  }
  EXPECT_NE(program->Print().find("; beside launches"), std::string::npos) << program->Print();
}

TEST(RunPlan, WithoutABranchNothingOverlaps) {
  NetworkBuilder b;
  const Graph graph = b.Done(
      b.Convolution("after", b.Node(Op::kSigmoid, "s", {b.Convolution("before", b.Input())})));
  const auto program =
      CompileWithHost(Prepare(graph.Clone(), RandomImages(graph, 1, 1), Int8Recipe()));
  EXPECT_FALSE(program->parts().plan.overlaps());
}

// The operator ends only when the launch beside it has begun, the launch only when the operator
// has.
TEST(RunPlan, TheHostsOperatorAndALaunchMeet) {
  const Graph graph = TwoBranches();
  const Batch images = RandomImages(graph, 3, 1);
  const Graph prepared = Prepare(graph.Clone(), images, Int8Recipe());
  const auto program = CompileWithHost(prepared);
  Batch one;
  one.inputs = {Tensor::View(ElementType::kFloat32, Shape{1, 16, 9, 9},
                             std::shared_ptr<const void>(&images, [](const void*) {}),
                             images.inputs[0].bytes())};
  std::mutex mutex;
  std::set<std::string> begun;
  const auto wait_for = [&](const std::string& name) {
    for (int i = 0; i < 20000; ++i) {
      {
        std::lock_guard lock(mutex);
        if (begun.contains(name)) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  std::atomic<int> met = 0;
  const auto observer = [&](const Piece& piece, bool begins) {
    if (!begins || (piece.kind != Kind::kOperator && piece.kind != Kind::kLaunch)) return;
    const std::string& name = program->kernels()[piece.step].name;
    {
      std::lock_guard lock(mutex);
      begun.insert(name);
    }
    if (name == "sigmoid") met += wait_for("first") ? 1 : 0;
    if (name == "first") met += wait_for("sigmoid") ? 1 : 0;
  };
  SetThreadCount(2);
  const auto result = RunNetwork(*program, one, {}, observer);
  SetThreadCount(0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(met, 2);
}

TEST(RunPlan, OneThreadDoesOnePieceBehindTheOther) {
  const Graph graph = TwoBranches();
  const Batch images = RandomImages(graph, 2, 1);
  const auto program = CompileWithHost(Prepare(graph.Clone(), images, Int8Recipe()));
  std::atomic<int> pieces = 0, elsewhere = 0;
  SetThreadCount(1);
  const auto result = RunNetwork(
      *program, images, {}, [&, caller = std::this_thread::get_id()](const Piece&, bool begins) {
        pieces += begins ? 1 : 0;
        elsewhere += std::this_thread::get_id() == caller ? 0 : 1;
      });
  SetThreadCount(0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(pieces, 2 * std::ssize(program->parts().plan.pieces));
  EXPECT_EQ(elsewhere, 0);
}

TEST(RunPlan, BitsAndCyclesAreThoseOfAnyNumberOfThreads) {
  const Graph graph = TwoBranches();
  const Batch images = RandomImages(graph, 5, 1);
  const auto program = CompileWithHost(Prepare(graph.Clone(), images, Int8Recipe()));
  RunOptions options;
  options.level = Level::kCycle;
  SetThreadCount(1);
  const auto alone = RunNetwork(*program, images, options);
  SetThreadCount(6);
  const auto together = RunNetwork(*program, images, options);
  SetThreadCount(0);
  ASSERT_TRUE(alone.ok() && together.ok());
  EXPECT_EQ(alone->codes, together->codes);
  EXPECT_EQ(alone->cycles_per_image, together->cycles_per_image);
  EXPECT_EQ(alone->trace.kernels.size(), 5u);
}

// An operator of the host that fails, beside launches that do not.
TEST(RunPlan, AnErrorOfTheHostNamesTheNodeAndEndsTheRun) {
  const Graph graph = TwoBranches();
  const Batch images = RandomImages(graph, 2, 1);
  const auto program = CompileWithHost(Prepare(graph.Clone(), images, Int8Recipe()));
  ProgramParts parts = program->parts();
  for (Step& step : parts.steps) {
    if (!step.host.has_value()) continue;
    auto broken = std::make_shared<Graph>("broken");
    Value* x = broken->AddInput("x", step.host->graph->inputs()[0]->type());
    Value* other = broken->AddConstant("c", Tensor(ElementType::kFloat32, Shape{7}));
    broken->AddNode(Op::kMatMul, "broken", {x, other}, {"y"});
    step.host->graph = broken;
  }
  const VtaProgram changed(std::move(parts));
  for (const int threads : {1, 4}) {
    SetThreadCount(threads);
    const auto result = RunNetwork(changed, images, {});
    SetThreadCount(0);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(MessageOf(result.status()).find("broken"), std::string::npos) << result.status();
  }
}

}  // namespace
}  // namespace kiln::vta
