// The command `kiln export`: writes a network as ONNX or IR text, after passes and quantisation.
#include <fmt/format.h>

#include <CLI/App.hpp>

#include "kiln/command/arguments.h"
#include "kiln/command/checks.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/flow.h"
#include "kiln/flow/images.h"
#include "kiln/frontend/data_preprocess.h"
#include "kiln/frontend/model.h"
#include "kiln/ir/text.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/post_training.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/report/text.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"

namespace kiln::cli {
namespace {

// Loads a network, runs passes, quantises if requested, and writes the result. The suffix of the
// output selects the form: .onnx files hold annotations as quantiser nodes (--quantisers), .kir
// files as they are.
class ExportCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("model", model_, "The network: ONNX or IR text")->required()->type_name("MODEL");
    app.add_option("-o,--output", output_,
                   "Where to: .onnx, or .kir for IR text; - prints the text without weights")
        ->required()
        ->type_name("FILE");
    app.add_option("--passes", passes_,
                   "none, clean-up, standard, annotated (standard and then quantisers to "
                   "annotations), or layout (then to "
                   "NHWC); default: clean-up, with --quantise annotated")
        ->check(
            CLI::IsMember({"none", "clean-up", "standard", "annotated", "layout"}).description(""))
        ->type_name("WHICH");
    app.add_option("--quantisers", quantisers_,
                   "How annotations are written to ONNX: qdq (QuantizeLinear, DequantizeLinear) or "
                   "qonnx (Quant, which "
                   "says every bit width)")
        ->check(CLI::IsMember({"qdq", "qonnx"}).description(""))
        ->capture_default_str()
        ->type_name("WHICH");
    app.add_option("--on", accelerator_,
                   "With --quantise, to .onnx: the accelerator for which the file is written. Only "
                   "what its kernels round has quantisers, so that the file rounds where kiln run "
                   "--quantise does")
        ->type_name("ACCELERATOR");
    shapes_.Declare(app);
    data_.Declare(app);
    quantise_.Declare(app, "nothing is quantised");
    app.footer(
        "Example:\n  kiln export models/demo_fashion_mnist.onnx -o demo.kir --passes standard\n"
        "  kiln export models/demo_fashion_mnist.onnx --quantise int8 --on systolic-int8-16x16 \\\n"
        "    -o demo-int8.onnx --calibrate "
        "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz");
  }

  Status Run(Context& context) override {
    const std::string extension = std::filesystem::path(output_).extension().string();
    if (output_ != "-" && extension != ".onnx" && extension != ".kir") {
      return ErrorAt(output_, "", "is no known kind of file by its name",
                     "end the name in .onnx or .kir");
    }
    KILN_RETURN_IF_ERROR(CheckHeeded(extension));
    std::vector<std::filesystem::path> read = {model_};
    if (!accelerator_.empty()) {
      KILN_ASSIGN_OR_RETURN(design_point_, FindResource("accelerators", accelerator_));
      read.push_back(design_point_);
    }
    KILN_RETURN_IF_ERROR(CheckOutputs({output_}, read));
    // Quantise what accelerators run: batch normalisations folded, GELU recognised as one operator,
    // and the network's own quantisation in annotations, so that a recipe sees it.
    if (passes_.empty()) passes_ = quantise_.recipe().empty() ? "clean-up" : "annotated";
    KILN_ASSIGN_OR_RETURN(Graph graph, Load());
    std::vector<std::string> notes;
    if (!quantise_.recipe().empty()) {
      KILN_ASSIGN_OR_RETURN(ImageSettings images, data_.Settings());
      // --calibrate takes precedence over --data.
      if (const ImageSettings own = quantise_.Settings(images); !own.path.empty()) images = own;
      KILN_ASSIGN_OR_RETURN(const Recipe recipe, FindRecipe(quantise_.recipe()));
      // Annotations that the network brings pass through moves and pools, as in a run.
      constexpr std::string_view kSpread[] = {"spread-annotations"};
      PassContext passes;
      KILN_RETURN_IF_ERROR(RunPasses(graph, kSpread, passes));
      NoteOwn(graph, recipe, &notes);
      if (images.given()) {
        KILN_ASSIGN_OR_RETURN(const Images calibration, OpenImages(images, graph));
        NotePreprocess(images, graph, calibration, &notes);
        if (images.path.empty() && NeedsData(recipe))
          notes.emplace_back("calibrated on random noise; --calibrate names images");
        KILN_ASSIGN_OR_RETURN(graph,
                              QuantiseNetwork(graph, recipe, calibration, quantise_.images()));
        // Whoever runs the file needs the preprocessing with which it was quantised.
        if (!images.path.empty() && !images.preprocess.empty())
          graph.metadata()[std::string(kPreprocessMetadataKey)] = calibration.preprocess;
      } else if (NeedsData(recipe)) {
        KILN_ASSIGN_OR_RETURN(const Shapes shapes, shapes_.Get());
        return NoDataFor(model_, shapes);
      } else {
        KILN_ASSIGN_OR_RETURN(graph, QuantiseWithoutImages(graph, recipe));
      }
    }
    if (!accelerator_.empty()) {
      KILN_RETURN_IF_ERROR(RemoveUnroundedOn(&graph, &notes));
    } else if (extension == ".onnx" && !quantise_.recipe().empty()) {
      notes.emplace_back(
          "the file quantises every annotated value, also between operators that an accelerator "
          "computes as one kernel, so that its accuracy may differ a little from that of kiln run "
          "--quantise; --on ACCELERATOR leaves out what that accelerator does not round");
    }
    NoteOtherQuantisers(graph, &notes);
    KILN_RETURN_IF_ERROR(Write(graph, extension, context.out));
    for (const std::string& note : notes) context.err << "note: " << note << '\n';
    return OkStatus();
  }

 private:
  // Returns an error if an option is given that this export would ignore.
  Status CheckHeeded(const std::string& extension) const {
    if (extension != ".onnx" && IsGiven(*app_, "--quantisers")) {
      return ErrorAt("", "--quantisers", "IR text holds annotations as they are",
                     "leave it out, or write .onnx");
    }
    if (IsGiven(*app_, "--on") && (extension != ".onnx" || quantise_.recipe().empty())) {
      return ErrorAt("", "--on", "only a quantised network in ONNX is written for an accelerator",
                     "add --quantise and write .onnx, or leave it out");
    }
    if (!quantise_.recipe().empty()) return OkStatus();
    for (const char* option : {"--data", "--labels", "--data-format", "--data-shape",
                               "--preprocess", "--random", "--calibrate", "--calibration-images"}) {
      if (!IsGiven(*app_, option)) continue;
      return ErrorAt("", option, "without a recipe nothing is quantised",
                     "name one with --quantise");
    }
    return OkStatus();
  }

  // Compiles the network for the accelerator and removes the annotations of what it does not round.
  Status RemoveUnroundedOn(Graph* graph, std::vector<std::string>* notes) const {
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Accelerator> accelerator,
                          LoadAccelerator(design_point_));
    KILN_ASSIGN_OR_RETURN(const Graph laid_out, LayOut(*graph));
    KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Program> program,
                          accelerator->Compile(laid_out, CompileOptions()));
    if (HostRunsAll(program->kernels()))
      notes->push_back(accelerator->name() + " runs no kernel of the network; the host rounds all");
    RemoveUnrounded(*program, graph);
    return OkStatus();
  }

  Status Write(const Graph& graph, const std::string& extension, std::ostream& out) const {
    if (extension == ".onnx") {
      KILN_ASSIGN_OR_RETURN(
          const std::string bytes,
          ExportOnnxBytes(graph, {.quantisers = quantisers_ == "qonnx" ? Quantisers::kQonnx
                                                                       : Quantisers::kQdq}));
      return WriteOutput(output_, bytes);
    }
    if (output_ != "-") return WriteOutput(output_, PrintGraph(graph));
    out << PrintGraph(graph, {.max_listed_elements = 16, .elide_constants = true});
    return OkStatus();
  }

  // Notes the values that are not written as Quant although --quantisers says so.
  void NoteOtherQuantisers(const Graph& graph, std::vector<std::string>* notes) const {
    if (quantisers_ != "qonnx") return;
    const std::vector<const Value*> others = ValuesWithoutQuant(graph);
    if (others.empty()) return;
    const QuantType& first = others[0]->quantisation()->type;
    const std::string type = NameOfType(first);
    notes->push_back(fmt::format(
        "{} written as QuantizeLinear and DequantizeLinear ({}, {}, first), because Quant says "
        "integers of up to 16 bits with scales per tensor or channel alone",
        others.size() == 1 ? "1 value is" : Counted(std::ssize(others), "value") + " are",
        QuotedExcerpt(others[0]->name()), type.empty() ? first.format.name : type));
  }

  // Notes what the recipe does to parameters that the network brings.
  static void NoteOwn(const Graph& graph, const Recipe& recipe, std::vector<std::string>* notes) {
    if (const QuantisedCount own = CountQuantised(graph); own.any())
      notes->push_back(OwnNote(own, recipe));
  }

  // Loads the model and runs the passes that --passes selects.
  StatusOr<Graph> Load() const {
    KILN_ASSIGN_OR_RETURN(const Shapes shapes, shapes_.Get());
    if (passes_ == "none" || passes_ == "clean-up") {
      LoadOptions load;
      load.clean_up = passes_ == "clean-up";
      load.import.shapes = shapes;
      load.import.known_inputs = !quantise_.recipe().empty();
      return LoadModel(model_, load);
    }
    KILN_ASSIGN_OR_RETURN(Graph network, LoadNetwork(model_, shapes));
    if (passes_ == "layout") return LayOut(network);
    if (passes_ == "annotated") {
      PassContext context;
      KILN_RETURN_IF_ERROR(RunPasses(network, AnnotationPipeline(), context));
    }
    return network;
  }

  const CLI::App* app_ = nullptr;
  std::string model_, output_, accelerator_;
  std::filesystem::path design_point_;  // the file of --on
  std::string passes_;  // empty: clean-up, or annotated where there is something to quantise
  std::string quantisers_ = "qdq";
  ShapeArguments shapes_;
  DataArguments data_;
  QuantiseArguments quantise_;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace kiln::cli
