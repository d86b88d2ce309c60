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
  static StatusOr<LabelCounter> Create(const Graph& network, const Images& images, int top_k,
                                       RunReport* report) {
    LabelCounter counter;
    counter.set_ = images.set.get();
    if (!images.set->has_labels()) {
      report->no_accuracy =
          images.set->no_labels().empty()
              ? fmt::format("{} has no labels (--labels names them)", images.source)
              : images.set->no_labels();
      return counter;
    }
    auto layout = FindScores(network, images.set->label_shape());
    if (!layout.ok()) {
      report->no_accuracy = MessageOf(layout.status());
      return counter;
    }
    if (layout->classes > 0) {
      KILN_RETURN_IF_ERROR(
          images.set->CheckLabels(layout->classes, layout->has_void() ? kVoidLabel : -1));
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
  // Counts the chunk of images [first, first + images).
  Status Add(const std::vector<Tensor>& outputs, int64_t first, int64_t images,
             ScoreCount* count) const {
    const auto labels = std::span(set_->labels())
                            .subspan(static_cast<size_t>(first * layout_->places),
                                     static_cast<size_t>(images * layout_->places));
    KILN_ASSIGN_OR_RETURN(
        const ScoreCount here,
        CountScores(outputs[static_cast<size_t>(layout_->output)], labels, *layout_, top_k_));
    count->Add(here);
    return OkStatus();
  }
  AccuracyReport ReportOf(const ScoreCount& count) const {
    return {.images = count.samples,
            .correct = count.correct,
            .labels = layout_->places > 1 ? count.labels : 0,
            .top_k = top_k_,
            .correct_top_k = top_k_ > 1 ? count.correct_top_k : 0};
  }

 private:
  const DataSet* set_ = nullptr;
  std::optional<ScoreLayout> layout_;
  int top_k_ = 1;
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
  RunOptions run;
  run.level = Level::kCycle;
  run.on_progress = [&](int64_t done) {
    if (progress) progress("cycle level", done, count);
  };
  Batch batch;
  batch.inputs = images.MakeBatch(0, count);
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

}  // namespace

Status Evaluate(const Graph& network, const Accelerator* accelerator, const Program* program,
                const Images& images, const EvaluateOptions& options, const FlowProgress& progress,
                RunReport* report) {
  const bool reference_only = options.level == Level::kReference;
  KILN_CHECK(reference_only || (accelerator != nullptr && program != nullptr));
  const int64_t count = options.limit > 0 ? std::min(options.limit, images.size()) : images.size();
  const Value& scores = *network.outputs()[0];
  KILN_ASSIGN_OR_RETURN(const LabelCounter labels,
                        LabelCounter::Create(network, images, options.top_k, report));
  // Without labels, networks that look like classifiers are compared by their classes.
  const bool classifies = (labels.counts() && HasFormOfScores(scores)) || IsClassifier(network);
  const bool run_fp32 = options.run_fp32 || reference_only;
  std::unique_ptr<ReferenceExecutor> reference;
  if (run_fp32) {
    KILN_ASSIGN_OR_RETURN(reference, ReferenceExecutor::Create(network));
  }

  report->level = std::string(NameOf(options.level));
  report->images_run = count;
  ScoreCount fp32, quantised;
  AccuracyReport agreement;
  Fidelity fidelity(network);
  double seconds = 0;
  const int64_t at_once = program == nullptr ? 1 : program->images_at_once();
  // Outputs with data-dependent shapes cannot be joined, so their images run one at a time.
  const bool apart = std::any_of(network.outputs().begin(), network.outputs().end(),
                                 [](const Value* output) { return !HasKnownShape(output); });
  const int64_t timed = std::min({options.cycle_limit.value_or(at_once), count, apart ? 1 : count});
  // The first chunk must hold all images that also run at the cycle level, because their bits are
  // compared with the functional results of that chunk.
  const int64_t chunk = apart ? 1 : std::max({options.chunk, timed, int64_t{1}});
  if (apart && options.cycle_limit.value_or(1) > 1) {
    report->notes.push_back("cycles are of one image: shapes of the outputs depend on the data");
  }
  // Per chunk: the reference level, the level under test, the first images at the cycle level, then
  // the comparisons.
  for (int64_t first = 0; first < count; first += chunk) {
    const int64_t here = std::min(chunk, count - first);
    Batch batch;
    batch.inputs = images.MakeBatch(first, here);
    std::vector<Tensor> expected;
    if (run_fp32) {
      const Stopwatch watch;
      KILN_ASSIGN_OR_RETURN(expected, reference->RunBatch(batch.inputs, [&](int64_t done, int64_t) {
        if (progress) progress("fp32", first + done, count);
      }));
      if (reference_only) seconds += watch.Seconds();
      if (reference_only && options.outputs != nullptr) {
        KILN_RETURN_IF_ERROR(options.outputs->Add(expected, {}, count));
      }
    }
    std::vector<Tensor> outputs;
    if (!reference_only) {
      const Stopwatch watch;
      RunOptions run;
      run.level = options.level;
      run.on_progress = [&](int64_t done) {
        if (progress) progress(report->level, first + done, count);
      };
      KILN_ASSIGN_OR_RETURN(RunResult result, accelerator->Run(*program, batch, run));
      seconds += watch.Seconds();
      outputs = result.outputs;
      if (options.outputs != nullptr) {
        KILN_RETURN_IF_ERROR(options.outputs->Add(result.outputs, result.codes, count));
      }
      if (first == 0 && options.level == Level::kFunctional && timed > 0) {
        KILN_RETURN_IF_ERROR(
            RunCycles(*accelerator, *program, images, timed, result, options, progress, report));
      }
      // Only the trace of the first images is kept.
      if (!result.cycles_per_image.empty()) {
        if (first == 0) report->trace = std::move(result.trace);
        report->cycles_per_image.insert(report->cycles_per_image.end(),
                                        result.cycles_per_image.begin(),
                                        result.cycles_per_image.end());
      }
    }
    if (run_fp32 && !reference_only) fidelity.Add(expected, outputs);
    if (labels.counts()) {
      if (run_fp32) KILN_RETURN_IF_ERROR(labels.Add(expected, first, here, &fp32));
      if (!reference_only) KILN_RETURN_IF_ERROR(labels.Add(outputs, first, here, &quantised));
    }
    // Agreement: the classes of the reference level serve as labels.
    if (!classifies) continue;
    if (run_fp32 && !reference_only)
      KILN_RETURN_IF_ERROR(Count(outputs[0], ClassesOf(expected[0]), &agreement));
  }
  report->run_seconds = seconds;
  // A machine that works on several images at once takes as long for fewer images.
  if (report->trace.has_value() && report->trace->images < at_once) {
    report->notes.push_back(
        fmt::format("cycles and utilisation are of {}, where the machine works on {} images at "
                    "once in the same time; energy is "
                    "that of an image of {}",
                    Counted(report->trace->images, "image"), at_once, at_once));
  }
  const ScoreCount& counted = run_fp32 ? fp32 : quantised;
  if (labels.counts() && counted.ignored > 0) {
    report->notes.push_back(
        fmt::format("{} ({}) say that there is no class, and are left out of the accuracy",
                    Counted(counted.ignored, "label"), kVoidLabel));
  }
  if (labels.counts() && run_fp32) report->fp32 = labels.ReportOf(fp32);
  if (labels.counts() && !reference_only) report->quantised = labels.ReportOf(quantised);
  if (classifies && run_fp32 && !reference_only) report->agreement = agreement;
  if (run_fp32 && !reference_only) report->outputs = fidelity.Report();
  return OkStatus();
}

}  // namespace kiln
