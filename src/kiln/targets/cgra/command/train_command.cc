// The options of `kiln cgra train`, and the conversation with the program that trains.

#include "kiln/targets/cgra/command/train_command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>

#include "kiln/command/checks.h"
#include "kiln/command/result_files.h"
#include "kiln/report/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/cgra/command/read_graph.h"
#include "kiln/targets/cgra/learn/protocol.h"

namespace kiln::cli {
namespace {

using cgra::CurvePoint;
using cgra::Frame;
using cgra::TrainingState;

// Returns the program that trains: beside this one.
StatusOr<std::filesystem::path> FindTrainer() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path path = self.parent_path() / "kiln-cgra-train";
  if (error || !std::filesystem::exists(path, error)) {
    return NotFoundAt("", path.string(), "does not exist",
                      "build it with libtorch (cmake --build build --target kiln-cgra-train)");
  }
  return path;
}

class Trainer {
 public:
  static StatusOr<Trainer> Start(const std::filesystem::path& log) {
    KILN_ASSIGN_OR_RETURN(const std::filesystem::path path, FindTrainer());
    KILN_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start({path.string()}, log));
    return Trainer(std::move(child));
  }
  Status Send(const Frame& frame) {
    const std::string bytes = FrameHeader(frame) + frame.bytes;
    return child_.Send({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  StatusOr<Frame> Receive() {
    std::string header(cgra::kFrameHeader, '\0');
    KILN_RETURN_IF_ERROR(ReceiveInto(&header));
    KILN_ASSIGN_OR_RETURN(const uint64_t length, cgra::FrameLength(header));
    Frame frame{header[0], std::string(length, '\0')};
    KILN_RETURN_IF_ERROR(ReceiveInto(&frame.bytes));
    return frame;
  }

 private:
  explicit Trainer(ChildProcess child) : child_(std::move(child)) {}
  Status ReceiveInto(std::string* bytes) {
    if (bytes->empty()) return OkStatus();
    return child_.Receive({reinterpret_cast<uint8_t*>(bytes->data()), bytes->size()});
  }
  ChildProcess child_;
};

// Returns a policy's file: the weights of a state without the rest.
std::string PolicyBytes(const TrainingState& state) {
  return cgra::SerializeTraining(
      {.weights = state.weights, .first = {}, .second = {}, .numbers = {}});
}

std::string PointText(const CurvePoint& point, int iterations) {
  return fmt::format("iteration {} of {}: {} of the episodes mapped, latency {:.3f} x its bound",
                     point.iteration, iterations, Percent(point.mapped), point.latency);
}

}  // namespace

void TrainCommand::Declare(CLI::App& app) {
  app_ = &app;
  app.add_option("--policy", policy_, "Where the trained policy goes")
      ->required()
      ->type_name("FILE");
  app.add_option("--graphs", graphs_,
                 "Computation graphs to train on beside random ones, as for kiln cgra map")
      ->type_name("GRAPH");
  app.add_option("--iterations", options_.iterations, "Iterations of the whole training")
      ->check(InRange(1, 1000000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--problems", options_.problems, "Mapping problems of an iteration")
      ->check(InRange(1, 4096).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--episodes", options_.episodes, "Episodes of each problem")
      ->check(InRange(1, 4096).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--most-instructions", options_.most_instructions,
                 "Instructions of the largest random graphs")
      ->check(InRange(4, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", options_.seed, "Seed of weights, graphs and choices")
      ->check(InRange(0, std::numeric_limits<int64_t>::max()).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads", options_.threads,
                 "Threads of libtorch; another number gives another policy")
      ->check(InRange(1, 256).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--state", state_,
                 "Where the state of the training goes now and then, to go on from by --resume")
      ->type_name("FILE");
  app.add_option("--state-every", state_every_, "Iterations between two states")
      ->check(InRange(1, 1000000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--resume", resume_,
                 "The state to go on from; the result is that of training without a break")
      ->type_name("FILE");
  app.add_option("--curve", curve_, "The course of the training as a picture (SVG)")
      ->type_name("FILE");
  app.add_option("--log", log_, "The course of the training as a table (CSV)")->type_name("FILE");
  app.add_flag("--no-mask", no_mask_, "All cells are choices; a forbidden one ends the episode");
  app.add_flag("--no-graph", no_graph_, "The policy has no graph network");
  app.add_flag("--no-attention", no_attention_, "The policy has no attention");
  app.add_flag("--stacked", options_.shape.stacked,
               "The policy is three stacked layers on the occupied cells");
  app.footer(
      "Example:\n"
      "  kiln cgra train --policy policy.bin --iterations 20 --curve curve.svg\n"
      "  kiln cgra map fft --on se-16 --mapper ppo --policy policy.bin");
}

Status TrainCommand::CheckFiles() const {
  for (const auto& [option, path] : {std::pair("--policy", &policy_), std::pair("--state", &state_),
                                     std::pair("--curve", &curve_), std::pair("--log", &log_)}) {
    if (!path->empty()) KILN_RETURN_IF_ERROR(CheckIsFile(option, *path));
  }
  std::vector<std::filesystem::path> inputs(graphs_.begin(), graphs_.end());
  KILN_RETURN_IF_ERROR(CheckOutputs({policy_, state_, curve_, log_}, inputs));
  // Of the outputs, only --state may overwrite the file of --resume.
  inputs = {resume_};
  return CheckOutputs({policy_, curve_, log_}, inputs);
}

StatusOr<cgra::TrainOptions> TrainCommand::Options() const {
  cgra::TrainOptions options = options_;
  options.mask = !no_mask_;
  options.shape.graph = !no_graph_;
  options.shape.attention = !no_attention_;
  for (const std::string& graph : graphs_) {
    KILN_ASSIGN_OR_RETURN(cgra::ComputationGraph read, ReadComputationGraph(graph));
    options.graphs.push_back(std::move(read));
  }
  return options;
}

Status TrainCommand::Run(Context& context) const {
  KILN_RETURN_IF_ERROR(CheckFiles());
  KILN_ASSIGN_OR_RETURN(const cgra::TrainOptions options, Options());
  std::string begin;
  if (!resume_.empty()) {
    KILN_ASSIGN_OR_RETURN(const TrainingState state, cgra::ReadTraining(resume_));
    KILN_RETURN_IF_ERROR(cgra::CheckResumed(options, state, resume_));
    begin = SerializeTraining(state);
  }
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder temporary, TemporaryFolder::Create("kiln-train"));
  KILN_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Start(temporary.path() / "log"));
  KILN_RETURN_IF_ERROR(
      trainer.Send({'o', PrintTrainRequest(options, state_.empty() ? 0 : state_every_)}));
  KILN_RETURN_IF_ERROR(trainer.Send({'s', begin}));
  Progress progress = context.StartProgress("training", options.iterations);
  std::vector<CurvePoint> curve;
  std::optional<TrainingState> state;
  while (true) {
    KILN_ASSIGN_OR_RETURN(const Frame frame, trainer.Receive());
    if (frame.kind == 'e') return ErrorAt("", "", frame.bytes, "");
    if (frame.kind == 'd') break;
    if (frame.kind == 's') {
      KILN_ASSIGN_OR_RETURN(state, cgra::ParseTraining(frame.bytes, "training"));
      if (!state_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(state_, frame.bytes));
      continue;
    }
    KILN_ASSIGN_OR_RETURN(const CurvePoint point, cgra::ParsePoint(frame.bytes));
    curve.push_back(point);
    progress.Update(point.iteration);
    if (context.show_steps) context.err << PointText(point, options.iterations) << '\n';
  }
  if (!state) return ErrorAt("", "training", "ended without a state", "");
  KILN_RETURN_IF_ERROR(WriteOutput(policy_, PolicyBytes(*state)));
  if (!curve_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(curve_, CurveSvg(curve)));
  if (!log_.empty()) KILN_RETURN_IF_ERROR(WriteOutput(log_, CurveCsv(curve)));
  if (!curve.empty()) context.out << PointText(curve.back(), options.iterations) << '\n';
  return OkStatus();
}

}  // namespace kiln::cli
