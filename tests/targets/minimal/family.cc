// The minimal family behind the interface of all families.
#include <utility>

#include "kiln/quantise/recipe.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/run/tensor_machine.h"
#include "tests/targets/minimal/minimal.h"

namespace kiln::minimal {
namespace {

class Machine final : public TensorMachine {
 public:
  Machine(const MinimalProgram& program, const StreamSimulation* simulation, Level level,
          const RtlOptions& rtl)
      : TensorMachine(program.network, HostsOf(program.hosts)),
        program_(program),
        simulation_(simulation),
        level_(level),
        rtl_(rtl) {}

 protected:
  StatusOr<Trace> RunKernel(size_t k) override {
    const Kernel& kernel = program_.on_machine[k];
    const Config& config = program_.config;
    const Tensor a = CodesOf(kernel.a), b = CodesOf(kernel.b);
    Tensor result(ElementType::kInt8, kernel.result->shape());
    Trace trace;
    if (level_ == Level::kFunctional) {
      const auto codes = Compute(kernel.instruction, a.data<int8_t>(), b.data<int8_t>());
      std::copy(codes.begin(), codes.end(), result.data<int8_t>().begin());
    } else {
      const auto beats = BeatsOf(config, kernel.instruction, a.data<int8_t>(), b.data<int8_t>());
      const auto count = static_cast<size_t>(config.BeatsOf(a.size()));
      std::vector<uint8_t> bytes;
      if (level_ == Level::kCycle) {
        int64_t cycles = 0;
        bytes = Simulate(config, beats, &cycles);
        trace = StreamTrace(cycles, {2 + count, config.in_bytes()}, {count, config.lanes});
      } else {
        KILN_ASSIGN_OR_RETURN(auto run, simulation_->Run(beats, {count}, config.lanes, rtl_));
        bytes = std::move(run.bytes);
        trace = std::move(run.trace);
      }
      std::copy_n(bytes.begin(), a.size(), result.data<int8_t>().begin());
    }
    SetCodes(kernel.result, result);
    return trace;
  }

 private:
  const MinimalProgram& program_;
  const StreamSimulation* const simulation_;  // of the rtl level
  const Level level_;
  const RtlOptions rtl_;
};

class MinimalAccelerator final : public Accelerator {
 public:
  explicit MinimalAccelerator(Config config) : config_(std::move(config)) {}
  std::string_view family() const override { return "minimal"; }
  const std::string& name() const override { return config_.name; }
  std::string Describe() const override { return Keys().Print(config_); }
  std::vector<std::string> ActivationFormats() const override { return {"int8"}; }
  std::vector<std::string> WeightFormats() const override { return {"int8"}; }
  NamedRecipe OwnRecipe() const override { return {"int8", Int8Recipe()}; }
  StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                             const CompileOptions& options) const override {
    return CompileWithTail(graph, options, [&](const Graph& known) {
      return CompileNetwork(config_, known, options);
    });
  }
  StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                          const RunOptions& options) const override {
    const auto& compiled = static_cast<const MinimalProgram&>(program);
    std::unique_ptr<StreamSimulation> simulation;
    const auto build = [&]() -> Status {
      if (options.level != Level::kRtl) return OkStatus();
      KILN_ASSIGN_OR_RETURN(auto project, ProjectOf(compiled));
      KILN_ASSIGN_OR_RETURN(simulation, StreamSimulation::Build(options.rtl, project));
      return OkStatus();
    };
    return RunOnTensorMachines(
        program, compiled.network, batch, options, build, [&](const RtlOptions& rtl) {
          return std::make_unique<Machine>(compiled, simulation.get(), options.level, rtl);
        });
  }
  Status EmitRtl(const Program& program, const FolderContent&,
                 const std::filesystem::path& folder) const override {
    KILN_ASSIGN_OR_RETURN(auto project, ProjectOf(static_cast<const MinimalProgram&>(program)));
    return hardware::WriteRtlProject(project, folder);
  }
  StatusOr<Cost> EstimateCost(int node_nm) const override {
    Cost cost;
    cost.node_nm = node_nm;
    cost.multipliers = 3 * config_.lanes;
    return cost;
  }
  double PeakMacsPerCycle() const override { return config_.lanes; }

 private:
  const Config config_;
};

StatusOr<std::unique_ptr<Accelerator>> Parse(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  Config config;
  hardware::KeyReader<Config> reader(Keys(), file.root(), &config);
  reader.ReadRest();
  KILN_RETURN_IF_ERROR(file.Finish());
  return std::make_unique<MinimalAccelerator>(std::move(config));
}

hardware::FamilyKeys Describe() {
  return {.family = "minimal", .introduction = "", .keys = Keys().Describe()};
}

}  // namespace

FamilyEntry Entry() { return {"minimal", &Parse, &Describe}; }

}  // namespace kiln::minimal
