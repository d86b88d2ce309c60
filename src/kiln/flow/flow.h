// The complete flow of a network: model, passes, quantisation, program, run. `kiln run` and the
// other commands, benchmarks and tests share these functions.
#ifndef KILN_FLOW_FLOW_H_
#define KILN_FLOW_FLOW_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/flow/images.h"
#include "kiln/flow/outer_memory.h"
#include "kiln/flow/outputs.h"
#include "kiln/ir/graph.h"
#include "kiln/passes/pass.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe.h"
#include "kiln/report/run_report.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// Reports the progress of a long step: its name, the work done and the total. May be empty.
using FlowProgress = std::function<void(const std::string& step, int64_t done, int64_t total)>;

// Sizes of symbolic dimensions and shapes of inputs, by name (--shape; ImportOptions::shapes).
using Shapes = std::map<std::string, Shape>;

// Reads a model with batch dimension 1 and runs the standard passes on it. With `known_inputs`, an
// input of unknown shape is an error that lists the symbols without a size.
StatusOr<Graph> LoadNetwork(const std::filesystem::path& model, const Shapes& shapes = {},
                            bool known_inputs = false);

// Does the same for running and timing, with `known_inputs`. Weights that are inputs without a
// value are given made-up values (passes/absent_weights.h), and a line about them is added to
// `notes`. If `parameters` is not null, it becomes the number of the file's parameters; passes such
// as folding a batch normalisation leave fewer.
StatusOr<Graph> LoadNetworkToRun(const std::filesystem::path& model, const Shapes& shapes,
                                 std::vector<std::string>* notes, int64_t* parameters = nullptr);

// Returns the files of a recipe, by path or by the name of one that comes with Kiln; some may not
// exist. Commands must not overwrite them.
std::vector<std::filesystem::path> FilesOfRecipe(const std::string& recipe);

// Returns the network as accelerators take it: a copy with annotations in place of quantisers, in
// the accelerators' order of dimensions (NHWC).
StatusOr<Graph> LayOut(const Graph& network);

// Finds a recipe by the path of its file, by the name of one that comes with Kiln, or by the name
// of a type (RecipeByName).
//   errors  those of the file; a name that is none of these, with the reason why it is not a type
StatusOr<Recipe> FindRecipe(const std::string& name);

// Returns the number of calibration images: `wanted`, or the recipe's own number if `wanted` is 0,
// but no more images than there are.
int64_t CalibrationImages(const Recipe& recipe, const Images& images, int64_t wanted);

// Returns a copy of the network, quantised by the recipe on the first CalibrationImages images.
StatusOr<Graph> QuantiseNetwork(const Graph& network, const Recipe& recipe,
                                const Images& calibration, int64_t images);

// Removes the annotations of values that a machine does not round, because they do not leave their
// kernel (KernelInfo::unrounded_values). `program` is compiled from `network` in the machine's
// layout.
void RemoveUnrounded(const Program& program, Graph* network);

// Options of Evaluate.
struct EvaluateOptions {
  Level level = Level::kFunctional;
  int64_t limit = 0;  // number of images to run, from the first; 0: all
  // After a functional run, also runs the first `cycle_limit` images at the cycle level and
  // compares the bits. Absent: as many images as the machine works on at once; a family without
  // cycle level then causes a note instead of an error.
  std::optional<int64_t> cycle_limit;
  bool run_fp32 = true;    // also run the reference level
  int64_t chunk = 1000;    // images in memory at a time
  int top_k = 1;           // also count labels among the k highest scores
  bool confusion = false;  // also count which class each label is taken for
  RtlOptions memory;       // its memory is behind the ports at the cycle and rtl levels
  // Receives the outputs at `level`, chunk by chunk; null: they are not kept.
  OutputsFile* outputs = nullptr;
};

// Runs the images and fills in the results of the runs: accuracy, speed, cycles, trace, comparison
// of levels. `program` and `accelerator` are null at the reference level.
Status Evaluate(const Graph& network, const Accelerator* accelerator, const Program* program,
                const Images& images, const EvaluateOptions& options, const FlowProgress& progress,
                RunReport* report);

// Returns what a network quantises itself: "12 activations and 9 constants".
std::string OwnText(const QuantisedCount& own);
// Returns a note on what a recipe does to the quantisation that a network brings.
std::string OwnNote(const QuantisedCount& own, const Recipe& recipe);

// Returns a recipe's name for tables. Files lose their folder and their extension.
std::string RecipeLabel(const std::string& recipe);

// Returns the name of the reference level in reports: "fp32", or "reference" if the network has
// quantised operators of its own, which run at that level, too.
std::string ReferenceName(const Graph& network);

// Fill in the parts of a report that are known before a run: the network's name, size and shapes
// (`parameters` as LoadNetworkToRun has them); the source and preprocessing of the images.
void DescribeModel(const Graph& network, int64_t parameters, RunReport* report);
void DescribeImages(const Images& images, RunReport* report);
// Areas and energies are those at `node_nm`; they stay absent if the family has no model of them.
void DescribeProgram(const Accelerator& accelerator, const std::filesystem::path& source,
                     const Program& program, RunReport* report, int node_nm = kDefaultNode);

// The settings of the whole flow, as the command line gives them.
struct FlowOptions {
  std::filesystem::path model;
  Shapes shapes;
  std::filesystem::path accelerator;  // empty only at the reference level
  ImageSettings images;
  std::string recipe;              // a name or a YAML file; empty: Accelerator::OwnRecipe
  bool recipe_given = false;       // use the recipe even if the network brings its own quantisation
  ImageSettings calibration;       // not given: the first images of `images`
  int64_t calibration_images = 0;  // 0: the recipe's number
  CompileOptions compile;  // its node_nm is also the CMOS node of reported areas and energies
  EvaluateOptions evaluate;
  std::optional<OuterMemory> memory;  // of RunFlow
};

// Returns all files that the flow reads. Commands must not overwrite them.
std::vector<std::filesystem::path> FilesOf(const FlowOptions& options);

// A network as an accelerator takes it, with everything it was made from.
struct PreparedNetwork {
  Graph network;    // after the standard passes, fp32
  Graph quantised;  // in the accelerator's layout, annotated
  Images images;    // options.images if given, else the calibration images
  std::filesystem::path design_point;
  std::unique_ptr<Accelerator> accelerator;
  CompileOptions compile;  // of the options, with the bandwidth of their memory
  RunReport report;        // about the network, its data and its quantisation
};

// Loads, calibrates and quantises a network:
//   1. finds accelerator and recipe, so that misspelt names fail at once
//   2. loads the network and opens the images
//   3. quantises the network, by its own annotations or by the recipe
//   errors  those of the steps; calibration options for a network that needs no calibration
StatusOr<PreparedNetwork> PrepareFlow(const FlowOptions& options,
                                      const FlowProgress& progress = {});

// A program together with everything it was made from. Its report is complete except for the
// results of runs.
struct CompiledNetwork : PreparedNetwork {
  std::unique_ptr<Program> program;
};

// Calls PrepareFlow and compiles the network. Errors: those of the two.
StatusOr<CompiledNetwork> CompileFlow(const FlowOptions& options,
                                      const FlowProgress& progress = {});

// Returns an error if the host runs the whole network. `consequence` completes its text: "there is
// nothing to verify".
Status CheckHasHardwareKernels(const CompiledNetwork& compiled, const std::string& model,
                               std::string_view consequence);

// Runs the complete flow: CompileFlow, then Evaluate. At the reference level nothing is quantised
// or compiled, and no accelerator is needed.
StatusOr<RunReport> RunFlow(const FlowOptions& options, const FlowProgress& progress = {});

}  // namespace kiln

#endif  // KILN_FLOW_FLOW_H_
