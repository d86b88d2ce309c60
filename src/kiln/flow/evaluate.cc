// Evaluate of flow.h: runs images through the reference level and the accelerator, chunk by chunk,
// and accumulates accuracy, fidelity and speed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "kiln/execute/reference.h"
#include "kiln/flow/fidelity.h"
#include "kiln/flow/flow.h"
#include "kiln/passes/rewrite.h"
#include "kiln/quantise/accuracy.h"
#include "kiln/quantise/scores.h"
#include "kiln/report/text.h"

namespace kiln {
namespace {

// Measures wall time from its construction.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Adds the top-1 counts of a chunk to `report`.
Status Count(const Tensor& scores, std::span<const int32_t> labels, AccuracyReport* report) {
  KILN_ASSIGN_OR_RETURN(const Accuracy accuracy, TopK(scores, labels));
  report->images += accuracy.images;
  report->correct += accuracy.correct;
  return OkStatus();
}

// Compares labels with outputs, over all chunks.
class LabelCounter {
 public:
  // Finds the output that the labels belong to. If there is no accuracy, `report` gets the reason.
  // Error: labels that the user named fit no output.
  static StatusOr<LabelCounter> Create(const Graph& network, const Images& images,
                                       const EvaluateOptions& options, RunReport* report) {
    const int top_k = options.top_k;
    LabelCounter counter;
    counter.set_ = images.set.get();
    counter.confusion_ = options.confusion;
    if (!images.set->has_labels()) {
      report->no_accuracy =
          images.set->no_labels().empty()
              ? fmt::format("{} has no labels (--labels names them)", images.source)
              : images.set->no_labels();
      return counter;
    }
    auto layout = FindScores(network, images.set->label_shape());
    if (!layout.ok() && images.labels_named) {
      return ErrorAt("", "--labels", MessageOf(layout.status()),
                     "leave it out to run without accuracy");
    }
    if (!layout.ok()) {
      report->no_accuracy = MessageOf(layout.status());
      return counter;
    }
    if (layout->classes > 0) {
      Status fits = images.set->CheckLabels(layout->classes, layout->has_void() ? kVoidLabel : -1);
      if (!fits.ok() && images.labels_named) return fits;
      if (!fits.ok()) {
        report->no_accuracy = MessageOf(fits);
        return counter;
      }
    }
    const bool fewer = layout->classes > 0 && top_k > layout->classes;
    if (fewer || (layout->classes == 0 && top_k > 1)) {
      return ErrorAt(
          "", "--top-k",
          fmt::format("{} of {}", top_k,
                      layout->classes == 0 ? std::string("an output that holds classes, not scores")
                                           : fmt::format("{} classes", layout->classes)),
          "leave it out, or name a smaller number");
    }
    counter.layout_ = *layout;
    counter.top_k_ = top_k;
    if (layout->output > 0) {
      report->notes.push_back(
          fmt::format("accuracy is that of output '{}'",
                      network.outputs()[static_cast<size_t>(layout->output)]->name()));
    }
    return counter;
  }
  // Returns whether accuracy is counted.
  bool counts() const { return layout_.has_value(); }
  // The counts of one level.
  struct Counts {
    ScoreCount scores;
    Confusion confusion;
  };
  // Counts the chunk of images [first, first + images).
  Status Add(const std::vector<Tensor>& outputs, int64_t first, int64_t images,
             Counts* counts) const {
    const auto labels = std::span(set_->labels())
                            .subspan(static_cast<size_t>(first * layout_->places),
                                     static_cast<size_t>(images * layout_->places));
    KILN_ASSIGN_OR_RETURN(const ScoreCount here,
                          CountScores(outputs[static_cast<size_t>(layout_->output)], labels,
                                      *layout_, top_k_, confusion_ ? &counts->confusion : nullptr));
    counts->scores.Add(here);
    return OkStatus();
  }
  AccuracyReport ReportOf(const Counts& counts) const {
    const ScoreCount& count = counts.scores;
    AccuracyReport report{.images = count.samples,
                          .correct = count.correct,
                          .labels = layout_->places > 1 ? count.labels : 0,
                          .top_k = top_k_,
                          .correct_top_k = top_k_ > 1 ? count.correct_top_k : 0};
    if (confusion_) report.confusion = counts.confusion;
    return report;
  }

 private:
  const DataSet* set_ = nullptr;
  std::optional<ScoreLayout> layout_;
  int top_k_ = 1;
  bool confusion_ = false;
};

// Returns the number of images, among the first `images` of a and b, that differ in any tensor.
int64_t DifferentImages(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                        int64_t images) {
  int64_t different = 0;
  for (int64_t i = 0; i < images; ++i) {
    bool same = a.size() == b.size();
    for (size_t t = 0; same && t < a.size(); ++t) {
      same = a[t].type() == b[t].type() && b[t].shape()[0] >= images && a[t].shape()[0] >= images;
      const int64_t bytes = same ? b[t].num_bytes() / b[t].shape()[0] : 0;
      same = same && a[t].num_bytes() / a[t].shape()[0] == bytes &&
             std::memcmp(a[t].bytes() + i * bytes, b[t].bytes() + i * bytes,
                         static_cast<size_t>(bytes)) == 0;
    }
    different += same ? 0 : 1;
  }
  return different;
}

// Runs the first `count` images at the cycle level as well: records time and trace, and compares
// the bits with `functional`. A family without cycle level is only noted, unless the user asked for
// it.
Status RunCycles(const Accelerator& accelerator, const Program& program, const Images& images,
                 int64_t count, const RunResult& functional, const EvaluateOptions& options,
                 const FlowProgress& progress, RunReport* report) {
  // The levels have nothing to agree on.
  const std::vector<KernelInfo>& kernels = program.kernels();
  if (!kernels.empty() && HostRunsAll(kernels)) {
    report->notes.emplace_back("no cycles: the accelerator runs no kernel of the network");
    return OkStatus();
  }
  RunOptions run;
  run.level = Level::kCycle;
  run.rtl = options.memory;
  run.on_progress = [&](int64_t done) {
    if (progress) progress("cycle level", done, count);
  };
  Batch batch;
  KILN_ASSIGN_OR_RETURN(batch.inputs, images.MakeBatch(0, count));
  auto result = accelerator.Run(program, batch, run);
  if (!result.ok()) {
    if (options.cycle_limit.has_value() || result.status().code() != StatusCode::kUnimplemented)
      return result.status();
    report->notes.push_back("no cycles: " + MessageOf(result.status()));
    return OkStatus();
  }
  report->compared_images = count;
  report->different_images = std::max(DifferentImages(functional.codes, result->codes, count),
                                      DifferentImages(functional.outputs, result->outputs, count));
  report->cycles_per_image = std::move(result->cycles_per_image);
  report->trace = std::move(result->trace);
  return OkStatus();
}

// Runs all images of one network chunk by chunk, and accumulates what the report says of them.
class Evaluation {
 public:
  Evaluation(const Graph& network, const Accelerator* accelerator, const Program* program,
             const Images& images, const EvaluateOptions& options, const FlowProgress& progress,
             RunReport* report)
      : network_(network),
        accelerator_(accelerator),
        program_(program),
        images_(images),
        options_(options),
        progress_(progress),
        report_(report),
        reference_only_(options.level == Level::kReference),
        run_fp32_(options.run_fp32 || reference_only_),
        count_(options.limit > 0 ? std::min(options.limit, images.size()) : images.size()),
        at_once_(program == nullptr ? 1 : program->images_at_once()),
        fidelity_(network) {
    KILN_CHECK(reference_only_ || (accelerator != nullptr && program != nullptr));
  }

  Status Run();

 private:
  // Chooses the metrics and the sizes of the chunks.
  Status Prepare();
  // Runs the images [first, first + images) at all levels and compares the results.
  Status RunChunk(int64_t first, int64_t images);
  // Returns the outputs of the reference level.
  StatusOr<std::vector<Tensor>> RunReference(const Batch& batch, int64_t first);
  // Returns the outputs of the level under test; the first chunk also runs at the cycle level.
  StatusOr<std::vector<Tensor>> RunAccelerator(const Batch& batch, int64_t first);
  // Adds a chunk to the metrics. `expected` and `outputs` are empty for a level that did not run.
  Status Compare(const std::vector<Tensor>& expected, const std::vector<Tensor>& outputs,
                 int64_t first, int64_t images);
  // Adds a note about the first image with a NaN, if no earlier chunk had one.
  void NoteNans(const std::vector<Tensor>& inputs, int64_t first);
  // Writes the metrics of all chunks into the report.
  void Report();

  const Graph& network_;
  const Accelerator* accelerator_;
  const Program* program_;
  const Images& images_;
  const EvaluateOptions& options_;
  const FlowProgress& progress_;
  RunReport* report_;
  bool reference_only_, run_fp32_;
  bool classifies_ = false;
  int64_t count_;      // images that run
  int64_t at_once_;    // images that the machine works on at once
  int64_t timed_ = 0;  // first images that also run at the cycle level
  int64_t chunk_ = 1;
  LabelCounter labels_;
  std::unique_ptr<ReferenceExecutor> reference_;
  LabelCounter::Counts fp32_, quantised_;
  AccuracyReport agreement_;
  Fidelity fidelity_;
  double seconds_ = 0;
  bool nan_noted_ = false;
};

Status Evaluation::Run() {
  KILN_RETURN_IF_ERROR(Prepare());
  for (int64_t first = 0; first < count_; first += chunk_)
    KILN_RETURN_IF_ERROR(RunChunk(first, std::min(chunk_, count_ - first)));
  Report();
  return OkStatus();
}

Status Evaluation::Prepare() {
  const Value& scores = *network_.outputs()[0];
  KILN_ASSIGN_OR_RETURN(labels_, LabelCounter::Create(network_, images_, options_, report_));
  // Without labels, networks that look like classifiers are compared by their classes.
  classifies_ = (labels_.counts() && HasFormOfScores(scores)) || IsClassifier(network_);
  if (run_fp32_) {
    KILN_ASSIGN_OR_RETURN(reference_, ReferenceExecutor::Create(network_));
  }
  report_->level = std::string(NameOf(options_.level));
  report_->images_run = count_;
  // Outputs with data-dependent shapes cannot be joined, so their images run one at a time.
  const bool apart = std::any_of(network_.outputs().begin(), network_.outputs().end(),
                                 [](const Value* output) { return !HasKnownShape(output); });
  timed_ = std::min({options_.cycle_limit.value_or(at_once_), count_, apart ? 1 : count_});
  // The first chunk must hold all images that also run at the cycle level, because their bits are
  // compared with the functional results of that chunk.
  chunk_ = apart ? 1 : std::max({options_.chunk, timed_, int64_t{1}});
  if (apart && options_.cycle_limit.value_or(1) > 1) {
    report_->notes.push_back("cycles are of one image: shapes of the outputs depend on the data");
  }
  return OkStatus();
}

Status Evaluation::RunChunk(int64_t first, int64_t images) {
  Batch batch;
  KILN_ASSIGN_OR_RETURN(batch.inputs, images_.MakeBatch(first, images));
  NoteNans(batch.inputs, first);
  std::vector<Tensor> expected, outputs;
  // What a node refuses may be due to the data, such as an index out of range.
  const auto of_data = [&](const Status& status) {
    return status.code() == StatusCode::kInvalidArgument ? WithContext(images_.source, status)
                                                         : status;
  };
  if (run_fp32_) {
    auto computed = RunReference(batch, first);
    if (!computed.ok()) return of_data(computed.status());
    expected = *std::move(computed);
  }
  if (!reference_only_) {
    auto computed = RunAccelerator(batch, first);
    if (!computed.ok()) return of_data(computed.status());
    outputs = *std::move(computed);
  }
  return Compare(expected, outputs, first, images);
}

void Evaluation::NoteNans(const std::vector<Tensor>& inputs, int64_t first) {
  for (size_t i = 0; i < inputs.size() && !nan_noted_; ++i) {
    const Tensor& input = inputs[i];
    if (input.type() != ElementType::kFloat32) continue;
    const std::span<const float> values = input.data<float>();
    const auto nan =
        std::find_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
    if (nan == values.end()) continue;
    nan_noted_ = true;
    const int64_t per_image = input.size() / input.shape()[0];
    report_->notes.push_back(fmt::format(
        "{}: image {} has a NaN in input '{}'; where codes have no NaN, the accelerator computes "
        "with zero",
        images_.source, first + (nan - values.begin()) / per_image, network_.inputs()[i]->name()));
  }
}

StatusOr<std::vector<Tensor>> Evaluation::RunReference(const Batch& batch, int64_t first) {
  const Stopwatch watch;
  KILN_ASSIGN_OR_RETURN(auto outputs,
                        reference_->RunBatch(batch.inputs, [&](int64_t done, int64_t) {
                          if (progress_) progress_("fp32", first + done, count_);
                        }));
  if (!reference_only_) return outputs;
  seconds_ += watch.Seconds();
  if (options_.outputs != nullptr) KILN_RETURN_IF_ERROR(options_.outputs->Add(outputs, {}, count_));
  return outputs;
}

StatusOr<std::vector<Tensor>> Evaluation::RunAccelerator(const Batch& batch, int64_t first) {
  const Stopwatch watch;
  RunOptions run;
  run.level = options_.level;
  run.rtl = options_.memory;
  run.on_progress = [&](int64_t done) {
    if (progress_) progress_(report_->level, first + done, count_);
  };
  KILN_ASSIGN_OR_RETURN(RunResult result, accelerator_->Run(*program_, batch, run));
  seconds_ += watch.Seconds();
  if (options_.outputs != nullptr)
    KILN_RETURN_IF_ERROR(options_.outputs->Add(result.outputs, result.codes, count_));
  if (first == 0 && options_.level == Level::kFunctional && timed_ > 0) {
    KILN_RETURN_IF_ERROR(
        RunCycles(*accelerator_, *program_, images_, timed_, result, options_, progress_, report_));
  }
  // Only the trace of the first images is kept.
  if (!result.cycles_per_image.empty()) {
    if (first == 0) report_->trace = std::move(result.trace);
    report_->cycles_per_image.insert(report_->cycles_per_image.end(),
                                     result.cycles_per_image.begin(),
                                     result.cycles_per_image.end());
  }
  return std::move(result.outputs);
}

Status Evaluation::Compare(const std::vector<Tensor>& expected, const std::vector<Tensor>& outputs,
                           int64_t first, int64_t images) {
  if (labels_.counts()) {
    if (run_fp32_) KILN_RETURN_IF_ERROR(labels_.Add(expected, first, images, &fp32_));
    if (!reference_only_) KILN_RETURN_IF_ERROR(labels_.Add(outputs, first, images, &quantised_));
  }
  if (!run_fp32_ || reference_only_) return OkStatus();
  fidelity_.Add(expected, outputs);
  // Agreement: the classes of the reference level serve as labels.
  return classifies_ ? Count(outputs[0], ClassesOf(expected[0]), &agreement_) : OkStatus();
}

void Evaluation::Report() {
  report_->run_seconds = seconds_;
  // A machine that works on several images at once takes as long for fewer images.
  if (report_->trace.has_value() && report_->trace->images < at_once_) {
    report_->notes.push_back(
        fmt::format("cycles and utilisation are of {}, where the machine works on {} images at "
                    "once in the same time; energy is "
                    "that of an image of {}",
                    Counted(report_->trace->images, "image"), at_once_, at_once_));
  }
  const ScoreCount& counted = (run_fp32_ ? fp32_ : quantised_).scores;
  if (labels_.counts() && counted.ignored > 0) {
    report_->notes.push_back(
        fmt::format("{} ({}) say that there is no class, and are left out of the accuracy",
                    Counted(counted.ignored, "label"), kVoidLabel));
  }
  if (labels_.counts() && run_fp32_) report_->fp32 = labels_.ReportOf(fp32_);
  if (labels_.counts() && !reference_only_) report_->quantised = labels_.ReportOf(quantised_);
  if (classifies_ && run_fp32_ && !reference_only_) report_->agreement = agreement_;
  if (run_fp32_ && !reference_only_) report_->outputs = fidelity_.Report();
}

}  // namespace

Status Evaluate(const Graph& network, const Accelerator* accelerator, const Program* program,
                const Images& images, const EvaluateOptions& options, const FlowProgress& progress,
                RunReport* report) {
  return Evaluation(network, accelerator, program, images, options, progress, report).Run();
}

}  // namespace kiln
