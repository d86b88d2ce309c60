// Evaluates the policy network.

#include "kiln/targets/cgra/learn/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "kiln/numerics/elementary.h"
#include "kiln/support/check.h"

namespace kiln::cgra {
namespace {

using Vector = std::vector<float>;

// Adds inputs * weights[first row ...] to `out`.
void Accumulate(const Policy::Layer& layer, int first_row, std::span<const float> inputs,
                float* out) {
  const auto outputs = static_cast<size_t>(layer.outputs);
  const float* row = layer.weights + static_cast<size_t>(first_row) * outputs;
  for (const float input : inputs) {
    if (input != 0) {
      for (size_t j = 0; j < outputs; ++j) out[j] += input * row[j];
    }
    row += outputs;
  }
}

Vector BiasOf(const Policy::Layer& layer) { return {layer.bias, layer.bias + layer.outputs}; }

void Rectify(std::span<float> values) {
  for (float& value : values) value = std::max(value, 0.0F);
}

Vector Apply(const Policy::Layer& layer, std::span<const float> inputs, bool rectify) {
  KILN_CHECK(std::ssize(inputs) == layer.inputs);
  Vector out = BiasOf(layer);
  Accumulate(layer, 0, inputs, out.data());
  if (rectify) Rectify(out);
  return out;
}

// Subtracts the mean and divides by the standard deviation.
void Normalise(std::span<float> values) {
  const auto count = static_cast<float>(values.size());
  float sum = 0;
  for (const float value : values) sum += value;
  const float mean = sum / count;
  float squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  const float scale = 1.0F / std::sqrt(squares / count + 1e-5F);
  for (float& value : values) value = (value - mean) * scale;
}

std::span<const float> RowOfMatrix(const Vector& matrix, int row, int columns) {
  return std::span(matrix).subspan(static_cast<size_t>(row) * static_cast<size_t>(columns),
                                   static_cast<size_t>(columns));
}

// Returns for each instruction the weighted sum of its neighbourhood's rows.
Vector Gather(const GraphFeatures& graph, const Vector& rows, int columns) {
  const auto count = static_cast<size_t>(graph.instructions);
  const auto width = static_cast<size_t>(columns);
  Vector out(rows.size(), 0.0F);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      const float weight = graph.adjacency[i * count + j];
      if (weight == 0) continue;
      for (size_t c = 0; c < width; ++c) out[i * width + c] += weight * rows[j * width + c];
    }
  }
  return out;
}

}  // namespace

Policy::Policy(Weights weights) : weights_(std::move(weights)) {}

Policy::Layer Policy::LayerOf(std::string_view name) const {
  const Matrix& matrix = weights_.at(name);
  return {.weights = matrix.values.data(),
          .bias = weights_.at(fmt::format("{}.bias", name)).values.data(),
          .inputs = matrix.rows,
          .outputs = matrix.columns};
}

// A transformer encoder layer: attention of all instructions to all, then two layers, each added to
// what it reads and normalised.
void Policy::Attend(int count, std::vector<float>* embeddings) const {
  constexpr int kWidth = kEmbedding / kHeads;
  const Layer query = LayerOf("attention.query"), key = LayerOf("attention.key");
  const Layer value = LayerOf("attention.value"), out = LayerOf("attention.out");
  const Layer wide = LayerOf("attention.wide"), narrow = LayerOf("attention.narrow");
  std::vector<Vector> queries, keys, values;
  for (int i = 0; i < count; ++i) {
    const std::span<const float> row = RowOfMatrix(*embeddings, i, kEmbedding);
    queries.push_back(Apply(query, row, false));
    keys.push_back(Apply(key, row, false));
    values.push_back(Apply(value, row, false));
  }
  const float scale = 1.0F / std::sqrt(static_cast<float>(kWidth));
  std::vector<double> scores(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Vector heads(kEmbedding, 0.0F);
    for (int head = 0; head < kHeads; ++head) {
      for (size_t j = 0; j < scores.size(); ++j) {
        float score = 0;
        for (size_t c = 0; c < kWidth; ++c) {
          const size_t at = static_cast<size_t>(head) * kWidth + c;
          score += queries[static_cast<size_t>(i)][at] * keys[j][at];
        }
        scores[j] = score * scale;
      }
      const std::vector<double> shares = ProbabilitiesOf(scores);
      for (size_t j = 0; j < shares.size(); ++j) {
        const auto share = static_cast<float>(shares[j]);
        for (size_t c = 0; c < kWidth; ++c) {
          const size_t at = static_cast<size_t>(head) * kWidth + c;
          heads[at] += share * values[j][at];
        }
      }
    }
    // Rows of later instructions are read from keys and values, so this one may change.
    const std::span<float> row =
        std::span(*embeddings).subspan(static_cast<size_t>(i) * kEmbedding, kEmbedding);
    const Vector mixed = Apply(out, heads, false);
    for (size_t c = 0; c < row.size(); ++c) row[c] += mixed[c];
    Normalise(row);
    const Vector fed = Apply(narrow, Apply(wide, row, true), false);
    for (size_t c = 0; c < row.size(); ++c) row[c] += fed[c];
    Normalise(row);
  }
}

Encoding Policy::Encode(const GraphFeatures& graph) const {
  Encoding encoding;
  if (weights_.shape.stacked) return encoding;
  Vector rows = graph.features;
  int width = kInstructionFeatures;
  for (const std::string_view name : {"graph.1", "graph.2"}) {
    const Layer layer = LayerOf(name);
    const Vector around = weights_.shape.graph ? Gather(graph, rows, width) : Vector();
    Vector next;
    for (int i = 0; i < graph.instructions; ++i) {
      Vector out = BiasOf(layer);
      Accumulate(layer, 0, RowOfMatrix(rows, i, width), out.data());
      if (weights_.shape.graph) {
        Accumulate(layer, width, RowOfMatrix(around, i, width), out.data());
      }
      Rectify(out);
      next.insert(next.end(), out.begin(), out.end());
    }
    rows = std::move(next);
    width = kEmbedding;
  }
  if (weights_.shape.attention) Attend(graph.instructions, &rows);
  encoding.average.assign(kEmbedding, 0.0F);
  for (size_t i = 0; i < rows.size(); ++i) encoding.average[i % kEmbedding] += rows[i];
  for (float& value : encoding.average) value /= static_cast<float>(graph.instructions);
  encoding.embeddings = std::move(rows);
  return encoding;
}

std::vector<float> Policy::TilesOf(const GraphFeatures& graph, const Encoding& encoding,
                                   const StepFeatures& step) const {
  const Layer layer = LayerOf("tile");
  const auto tiles = static_cast<size_t>(graph.tiles);
  Vector sums(tiles * kEmbedding, 0.0F), out;
  for (size_t i = 0; i < step.tile_of.size(); ++i) {
    if (step.tile_of[i] < 0) continue;
    float* sum = &sums[static_cast<size_t>(step.tile_of[i]) * kEmbedding];
    for (size_t c = 0; c < kEmbedding; ++c) sum[c] += encoding.embeddings[i * kEmbedding + c];
  }
  for (size_t tile = 0; tile < tiles; ++tile) {
    Vector near(kEmbedding, 0.0F);
    for (size_t other = 0; other < tiles; ++other) {
      if (graph.links[tile * tiles + other] == 0) continue;
      for (size_t c = 0; c < kEmbedding; ++c) near[c] += sums[other * kEmbedding + c];
    }
    Vector row = BiasOf(layer);
    const auto at = static_cast<int>(tile);
    Accumulate(layer, 0, RowOfMatrix(sums, at, kEmbedding), row.data());
    Accumulate(layer, kEmbedding, near, row.data());
    Accumulate(layer, 2 * kEmbedding, RowOfMatrix(step.tiles, at, kTileFeatures), row.data());
    Rectify(row);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

// Evaluates the actor on every choice and, if asked, the critic. The first layer of the actor is
// linear before its rectifier, so the shares of the context and of a tile are computed once and
// added to each cell's own.
Judgement Policy::Judge(const GraphFeatures& graph, const Encoding& encoding,
                        const StepFeatures& step, bool want_value) const {
  if (weights_.shape.stacked) return JudgeStacked(graph, step);
  const Vector tiles = TilesOf(graph, encoding, step);
  const Layer context_layer = LayerOf("context");
  Vector context = BiasOf(context_layer);
  Accumulate(context_layer, 0, RowOfMatrix(encoding.embeddings, step.instruction, kEmbedding),
             context.data());
  Accumulate(context_layer, kEmbedding, encoding.average, context.data());
  Accumulate(context_layer, 2 * kEmbedding, step.global, context.data());
  Rectify(context);
  // The part of the first layer that all cells have in common, and that all cells of a tile have.
  const Layer first = LayerOf("actor.1"), second = LayerOf("actor.2"), third = LayerOf("actor.3");
  Vector common = BiasOf(first);
  Accumulate(first, kCellFeatures + kTileWidth, context, common.data());
  Judgement judgement;
  judgement.logits.reserve(step.choices.size());
  int of_tile = -1;
  Vector shared;
  for (size_t i = 0; i < step.choices.size(); ++i) {
    if (const int tile = step.choices[i].tile; tile != of_tile) {
      of_tile = tile;
      shared = common;
      Accumulate(first, kCellFeatures, RowOfMatrix(tiles, tile, kTileWidth), shared.data());
    }
    Vector hidden = shared;
    Accumulate(first, 0, RowOfMatrix(step.cells, static_cast<int>(i), kCellFeatures),
               hidden.data());
    Rectify(hidden);
    judgement.logits.push_back(Apply(third, Apply(second, hidden, true), false)[0]);
  }
  if (!want_value) return judgement;
  Vector inputs = context;
  inputs.resize(kContext + kTileWidth, 0.0F);
  for (size_t i = 0; i < tiles.size(); ++i) inputs[kContext + i % kTileWidth] += tiles[i];
  for (size_t c = 0; c < kTileWidth; ++c) inputs[kContext + c] /= static_cast<float>(graph.tiles);
  judgement.value =
      Apply(LayerOf("critic.3"),
            Apply(LayerOf("critic.2"), Apply(LayerOf("critic.1"), inputs, true), true), false)[0];
  return judgement;
}

// The baseline: two stacks of three layers. A cell beyond their fixed number of outputs has the
// logit 0.
Judgement Policy::JudgeStacked(const GraphFeatures& graph, const StepFeatures& step) const {
  const Vector inputs = StackedInputsOf(graph, step);
  const auto run = [&](std::string_view part) {
    const auto layer = [&](int number) { return LayerOf(fmt::format("{}.{}", part, number)); };
    return Apply(layer(3), Apply(layer(2), Apply(layer(1), inputs, true), true), false);
  };
  const Vector outputs = run("actor");
  Judgement judgement;
  for (const Cell& cell : step.choices) {
    const int output = StackedOutputOf(cell);
    judgement.logits.push_back(output < 0 ? 0.0 : outputs[static_cast<size_t>(output)]);
  }
  judgement.value = run("critic")[0];
  return judgement;
}

// The inputs, in order: for each cell whether it is allowed; for each tile a quarter of the number
// of its instructions; the slot of the earliest allowed issue, one-hot; the features of the
// instruction; the global features.
std::vector<float> StackedInputsOf(const GraphFeatures& graph, const StepFeatures& step) {
  constexpr size_t kCells = size_t{kStackedTiles} * kStackedSlots;
  Vector inputs(static_cast<size_t>(StackedInputs()), 0.0F);
  for (size_t i = 0; i < step.choices.size(); ++i) {
    if (!step.is_allowed[i]) continue;
    const int cell = StackedOutputOf(step.choices[i]);
    if (cell >= 0) inputs[static_cast<size_t>(cell)] = 1;
  }
  for (const int tile : step.tile_of) {
    if (tile >= 0 && tile < kStackedTiles) inputs[kCells + static_cast<size_t>(tile)] += 0.25F;
  }
  if (!step.choices.empty()) {
    const auto least = std::ranges::min_element(step.choices, {}, &Cell::issue);
    if (least->slot < kStackedSlots) {
      inputs[kCells + kStackedTiles + static_cast<size_t>(least->slot)] = 1;
    }
  }
  const size_t own = kCells + kStackedTiles + kStackedSlots;
  const std::span<const float> features =
      RowOfMatrix(graph.features, step.instruction, kInstructionFeatures);
  std::ranges::copy(features, inputs.begin() + static_cast<std::ptrdiff_t>(own));
  std::ranges::copy(step.global,
                    inputs.begin() + static_cast<std::ptrdiff_t>(own + kInstructionFeatures));
  return inputs;
}

int StackedOutputOf(const Cell& cell) {
  if (cell.tile >= kStackedTiles || cell.slot >= kStackedSlots) return -1;
  return cell.tile * kStackedSlots + cell.slot;
}

// Subtracting the greatest logit keeps every exponential within (0, 1].
std::vector<double> ProbabilitiesOf(const std::vector<double>& logits) {
  std::vector<double> shares;
  if (logits.empty()) return shares;
  const double most = std::ranges::max(logits);
  double sum = 0;
  for (const double logit : logits) {
    shares.push_back(elementary::Exp(logit - most));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// The graph is encoded once; a call evaluates only the actor, on the state that the search passes.
SearchOrder OrderOf(const Policy& policy, const Problem& problem, int initiation_interval) {
  struct Known {
    Observer observer;
    Encoding encoding;
  };
  const auto known = std::make_shared<Known>(
      Known{Observer(problem, initiation_interval, DepthFirstOrder(problem)), {}});
  known->encoding = policy.Encode(known->observer.graph());
  return [&policy, known](std::span<const Place> places, int instruction,
                          std::span<const Place> candidates, std::span<double> scores) {
    const StepFeatures step = known->observer.ObservePlaces(places, instruction, candidates);
    const Judgement judgement = policy.Judge(known->observer.graph(), known->encoding, step);
    std::ranges::copy(judgement.logits, scores.begin());
  };
}

}  // namespace kiln::cgra
