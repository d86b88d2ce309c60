// The whole way of a network: model, passes, quantisation, program, run. The command `kiln run`, benchmarks and tests
// go this way by the same functions.
#ifndef KILN_CLI_FLOW_H_
#define KILN_CLI_FLOW_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/cli/images.h"
#include "kiln/cli/outputs.h"
#include "kiln/ir/graph.h"
#include "kiln/passes/pass.h"
#include "kiln/quantise/recipe.h"
#include "kiln/report/run_report.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Tells where a long step stands: its name, how much is done, how much there is. May be empty.
using FlowProgress = std::function<void(const std::string& step, int64_t done, int64_t total)>;

// Sizes of symbolic dimensions and shapes of inputs, by name (--shape; ImportOptions::shapes).
using Shapes = std::map<std::string, Shape>;

// Reads a model with batch dimension 1 and runs the standard passes over it. With `known_inputs` it is an error that an
// input's shape is not known; the message lists the symbols without a size.
StatusOr<Graph> LoadNetwork(const std::filesystem::path& model, const Shapes& shapes = {},
                            bool known_inputs = false);

// The same for running and timing, with known inputs: weights that are inputs without a value get made-up ones
// (passes/absent_weights.h), and a line about it goes to `notes`.
StatusOr<Graph> LoadNetworkToRun(const std::filesystem::path& model, const Shapes& shapes,
                                 std::vector<std::string>* notes);

// The files of a recipe by path or by the name of one that comes with Kiln. For what must not be written over; some
// need not be there.
std::vector<std::filesystem::path> FilesOfRecipe(const std::string& recipe);

// The network as accelerators take it: a copy whose quantisers are annotations, in their order of dimensions.
StatusOr<Graph> LayOut(const Graph& network);

// A recipe by the path of its file, by the bare name of one that comes with Kiln, or by a type's name (RecipeByName).
//   errors  those of the file; a name that is none of these, with what keeps it from being a type
StatusOr<Recipe> FindRecipe(const std::string& name);

// How many images a recipe is calibrated on: `wanted`, or the recipe's own number where that is 0; those that there are
// at most.
int64_t CalibrationImages(const Recipe& recipe, const Images& images, int64_t wanted);

// A copy of the network, quantised by the recipe on the first CalibrationImages images.
StatusOr<Graph> QuantiseNetwork(const Graph& network, const Recipe& recipe,
                                const Images& calibration, int64_t images);

struct EvaluateOptions {
  Level level = Level::kFunctional;
  int64_t limit = 0;  // images to run, from the first; 0: all
  // After a functional run, so many images also at the cycle level, and bits compared. Absent: as many as the machine
  // works on at once, and then a family without cycle level is a note and not an error.
  std::optional<int64_t> cycle_limit;
  bool run_fp32 = true;  // the reference level beside the accelerator's
  int64_t chunk = 1000;  // images in memory at a time
  int top_k = 1;         // accuracy also among the k highest scores
  // Takes what the network computes at `level`, chunk by chunk; null: nobody does.
  OutputsFile* outputs = nullptr;
};

// Fills in what runs tell: accuracy, speed, cycles, trace, comparison of levels. `program` and `accelerator` are null
// at the reference level.
Status Evaluate(const Graph& network, const Accelerator* accelerator, const Program* program,
                const Images& images, const EvaluateOptions& options, const FlowProgress& progress,
                RunReport* report);

// What reports call the network's run at the reference level: "fp32", or "reference" where it has quantised operators
// of its own, which run there, too.
std::string ReferenceName(const Graph& network);

// Fills in what is known before a run.
void DescribeModel(const Graph& network, RunReport* report);
void DescribeImages(const Images& images, RunReport* report);
// Area and energy are those of `node_nm`; what the family has no model of stays absent.
void DescribeProgram(const Accelerator& accelerator, const std::filesystem::path& source,
                     const Program& program, RunReport* report, int node_nm = kDefaultNode);

struct FlowOptions {
  std::filesystem::path model;
  Shapes shapes;
  std::filesystem::path accelerator;  // empty only at the reference level
  ImageSettings images;
  std::string recipe;         // a name or a YAML file; empty: Accelerator::OwnRecipe
  bool recipe_given = false;  // use the recipe also where the network brings its own quantisation
  ImageSettings calibration;  // none given: the first of `images`
  int64_t calibration_images = 0;  // 0: the recipe's number
  CompileOptions compile;
  EvaluateOptions evaluate;
  int node_nm = kDefaultNode;  // of areas and energies
};

std::vector<std::filesystem::path> FilesOf(const FlowOptions& options);

// A program with what it was made from.
struct CompiledNetwork {
  Graph network;    // after the standard passes, fp32
  Graph quantised;  // in the accelerator's layout, annotated
  Images images;    // options.images where given, else the calibration images
  std::filesystem::path design_point;
  std::unique_ptr<Accelerator> accelerator;
  std::unique_ptr<Program> program;
  RunReport report;  // all but what a run tells
};

// Model, passes, calibration, quantisation, program.
StatusOr<CompiledNetwork> CompileFlow(const FlowOptions& options,
                                      const FlowProgress& progress = {});

// All of the above in order, down to the run.
StatusOr<RunReport> RunFlow(const FlowOptions& options, const FlowProgress& progress = {});

}  // namespace kiln

#endif  // KILN_CLI_FLOW_H_
