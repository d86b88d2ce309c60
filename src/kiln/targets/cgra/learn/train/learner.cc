// The policy network in libtorch, its losses and updates.

#include "kiln/targets/cgra/learn/train/learner.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <string>

#include "kiln/support/check.h"
#include "kiln/targets/cgra/learn/policy.h"

namespace kiln::cgra {
namespace {

using torch::Tensor;

// Samples as tensors. Graphs, tiles and choices are padded to the most that occur.
struct Batch {
  int64_t samples = 0, graphs = 0, nodes = 0, tiles = 0, choices = 0;
  Tensor features, adjacency, node_mask, links, tile_mask;  // by graph
  Tensor graph_of, node_of, global, tile_features;          // by sample
  Tensor placed_rows, placed_nodes;                         // by placed instruction
  Tensor cells, cell_sample, cell_tile, cell_position;      // by choice
  Tensor choice, log_probability, advantage, target;        // by sample
  Tensor stacked;                                           // by sample: inputs of the baseline
  Tensor stacked_output;                                    // by choice: its output, or the last
};

Tensor Floats(const std::vector<float>& values, const std::vector<int64_t>& sizes) {
  return torch::from_blob(const_cast<float*>(values.data()), sizes, torch::kFloat32).clone();
}
Tensor Indices(const std::vector<int64_t>& values) {
  return torch::from_blob(const_cast<int64_t*>(values.data()),
                          {static_cast<int64_t>(values.size())}, torch::kInt64)
      .clone();
}

// Fills the part of a batch that belongs to graphs.
std::map<const GraphFeatures*, int64_t> AddGraphs(std::span<const Sample* const> samples,
                                                  Batch* batch) {
  std::map<const GraphFeatures*, int64_t> number;
  std::vector<const GraphFeatures*> graphs;
  for (const Sample* sample : samples) {
    if (number.emplace(sample->graph, static_cast<int64_t>(graphs.size())).second) {
      graphs.push_back(sample->graph);
      batch->nodes = std::max<int64_t>(batch->nodes, sample->graph->instructions);
      batch->tiles = std::max<int64_t>(batch->tiles, sample->graph->tiles);
    }
  }
  batch->graphs = static_cast<int64_t>(graphs.size());
  const auto nodes = static_cast<size_t>(batch->nodes), tiles = static_cast<size_t>(batch->tiles);
  std::vector<float> features(graphs.size() * nodes * kInstructionFeatures, 0.0F);
  std::vector<float> adjacency(graphs.size() * nodes * nodes, 0.0F);
  std::vector<float> node_mask(graphs.size() * nodes, 0.0F);
  std::vector<float> links(graphs.size() * tiles * tiles, 0.0F);
  std::vector<float> tile_mask(graphs.size() * tiles, 0.0F);
  for (size_t g = 0; g < graphs.size(); ++g) {
    const GraphFeatures& graph = *graphs[g];
    const auto count = static_cast<size_t>(graph.instructions);
    std::ranges::copy(graph.features, features.begin() + static_cast<std::ptrdiff_t>(
                                                             g * nodes * kInstructionFeatures));
    for (size_t i = 0; i < count; ++i) {
      node_mask[g * nodes + i] = 1;
      for (size_t j = 0; j < count; ++j) {
        adjacency[(g * nodes + i) * nodes + j] = graph.adjacency[i * count + j];
      }
    }
    const auto own = static_cast<size_t>(graph.tiles);
    for (size_t a = 0; a < own; ++a) {
      tile_mask[g * tiles + a] = 1;
      for (size_t b = 0; b < own; ++b) {
        links[(g * tiles + a) * tiles + b] = graph.links[a * own + b];
      }
    }
  }
  batch->features = Floats(features, {batch->graphs, batch->nodes, kInstructionFeatures});
  batch->adjacency = Floats(adjacency, {batch->graphs, batch->nodes, batch->nodes});
  batch->node_mask = Floats(node_mask, {batch->graphs, batch->nodes});
  batch->links = Floats(links, {batch->graphs, batch->tiles, batch->tiles});
  batch->tile_mask = Floats(tile_mask, {batch->graphs, batch->tiles});
  return number;
}

Batch BatchOf(std::span<const Sample* const> samples, bool is_stacked) {
  Batch batch;
  batch.samples = static_cast<int64_t>(samples.size());
  const std::map<const GraphFeatures*, int64_t> number = AddGraphs(samples, &batch);
  const auto tiles = static_cast<size_t>(batch.tiles);
  std::vector<int64_t> graph_of, node_of, placed_rows, placed_nodes, cell_sample, cell_tile;
  std::vector<int64_t> position, choice, stacked_output;
  std::vector<float> global, cells, log_probability, advantage, target, stacked;
  std::vector<float> tile_features(samples.size() * tiles * kTileFeatures, 0.0F);
  for (const Sample* sample : samples) {
    batch.choices = std::max(batch.choices, static_cast<int64_t>(sample->step.choices.size()));
  }
  for (size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = *samples[s];
    const StepFeatures& step = sample.step;
    const int64_t graph = number.at(sample.graph);
    graph_of.push_back(graph);
    node_of.push_back(graph * batch.nodes + step.instruction);
    global.insert(global.end(), step.global.begin(), step.global.end());
    std::ranges::copy(
        step.tiles, tile_features.begin() + static_cast<std::ptrdiff_t>(s * tiles * kTileFeatures));
    const auto row = static_cast<int64_t>(s) * batch.tiles;
    for (size_t i = 0; i < step.tile_of.size(); ++i) {
      if (step.tile_of[i] < 0) continue;
      placed_rows.push_back(row + step.tile_of[i]);
      placed_nodes.push_back(graph * batch.nodes + static_cast<int64_t>(i));
    }
    for (size_t c = 0; c < step.choices.size(); ++c) {
      cell_sample.push_back(static_cast<int64_t>(s));
      cell_tile.push_back(row + step.choices[c].tile);
      position.push_back(static_cast<int64_t>(s) * batch.choices + static_cast<int64_t>(c));
      if (!is_stacked) continue;
      constexpr int64_t kOutputs = int64_t{kStackedTiles} * kStackedSlots;
      const int output = StackedOutputOf(step.choices[c]);
      KILN_CHECK(output >= 0);
      stacked_output.push_back(static_cast<int64_t>(s) * kOutputs + output);
    }
    cells.insert(cells.end(), step.cells.begin(), step.cells.end());
    choice.push_back(sample.choice);
    log_probability.push_back(static_cast<float>(sample.log_probability));
    advantage.push_back(static_cast<float>(sample.advantage));
    target.push_back(static_cast<float>(sample.target));
    if (is_stacked) {
      const std::vector<float> inputs = StackedInputsOf(*sample.graph, step);
      stacked.insert(stacked.end(), inputs.begin(), inputs.end());
    }
  }
  batch.graph_of = Indices(graph_of);
  batch.node_of = Indices(node_of);
  batch.global = Floats(global, {batch.samples, kGlobalFeatures});
  batch.tile_features = Floats(tile_features, {batch.samples, batch.tiles, kTileFeatures});
  batch.placed_rows = Indices(placed_rows);
  batch.placed_nodes = Indices(placed_nodes);
  batch.cells = Floats(cells, {static_cast<int64_t>(cell_sample.size()), kCellFeatures});
  batch.cell_sample = Indices(cell_sample);
  batch.cell_tile = Indices(cell_tile);
  batch.cell_position = Indices(position);
  batch.choice = Indices(choice);
  batch.log_probability = Floats(log_probability, {batch.samples});
  batch.advantage = Floats(advantage, {batch.samples});
  batch.target = Floats(target, {batch.samples});
  if (is_stacked) {
    batch.stacked = Floats(stacked, {batch.samples, StackedInputs()});
    batch.stacked_output = Indices(stacked_output);
  }
  return batch;
}

Tensor Normalised(const Tensor& rows) {
  const Tensor centred = rows - rows.mean(-1, true);
  return centred / (centred.square().mean(-1, true) + 1e-5).sqrt();
}

struct Outputs {
  Tensor logits;  // [samples][choices], padded with the least
  Tensor mask;    // [samples][choices]: 1 where a choice is
  Tensor values;  // [samples]
};

// Losses with their tensors.
struct Terms {
  Tensor policy, value, entropy, change, log_probability, values;
};

PpoLosses NumbersOf(const Terms& terms) {
  return {.policy = terms.policy.item<double>(),
          .value = terms.value.item<double>(),
          .entropy = terms.entropy.item<double>(),
          .change = terms.change.item<double>()};
}

}  // namespace

// The network of learn/policy.cc on whole batches, with the same names of matrices. A test compares
// the outputs of both.
struct Learner::Network {
  PolicyShape shape;
  std::vector<std::string> names;
  std::vector<Tensor> weights, first, second;
  uint64_t updates = 0;

  const Tensor& at(const std::string& name) const {
    const auto found = std::ranges::find(names, name);
    KILN_CHECK(found != names.end());
    return weights[static_cast<size_t>(found - names.begin())];
  }
  Tensor Apply(const std::string& name, const Tensor& inputs) const {
    return torch::matmul(inputs, at(name)) + at(name + ".bias");
  }
  // The rows [from, from + count) of a layer's matrix.
  Tensor Part(const std::string& name, const Tensor& inputs, int64_t from, int64_t count) const {
    return torch::matmul(inputs, at(name).narrow(0, from, count));
  }
  Tensor Three(const std::string& part, const Tensor& inputs) const {
    return Apply(part + ".3",
                 torch::relu(Apply(part + ".2", torch::relu(Apply(part + ".1", inputs)))));
  }

  Tensor Embed(const Batch& batch) const;
  Tensor Attend(const Batch& batch, const Tensor& rows) const;
  Outputs Forward(const Batch& batch) const;
  Outputs ForwardStacked(const Batch& batch) const;
  Terms TermsOf(const Batch& batch, const PpoOptions& options) const;
};

// Padded instructions get the score -1e9 and so no weight in the softmax.
Tensor Learner::Network::Attend(const Batch& batch, const Tensor& rows) const {
  constexpr int64_t kWidth = kEmbedding / kHeads;
  const auto heads = [&](const char* name) {
    return Apply(name, rows)
        .view({batch.graphs, batch.nodes, kHeads, kWidth})
        .transpose(1, 2);  // [graphs][heads][nodes][width]
  };
  Tensor scores = torch::matmul(heads("attention.query"), heads("attention.key").transpose(2, 3)) /
                  std::sqrt(static_cast<double>(kWidth));
  scores = scores + (batch.node_mask.view({batch.graphs, 1, 1, batch.nodes}) - 1) * 1e9;
  const Tensor mixed = torch::matmul(torch::softmax(scores, -1), heads("attention.value"))
                           .transpose(1, 2)
                           .reshape({batch.graphs, batch.nodes, kEmbedding});
  const Tensor attended = Normalised(rows + Apply("attention.out", mixed));
  const Tensor fed = Apply("attention.narrow", torch::relu(Apply("attention.wide", attended)));
  return Normalised(attended + fed);
}

Tensor Learner::Network::Embed(const Batch& batch) const {
  Tensor rows = batch.features;
  for (const char* name : {"graph.1", "graph.2"}) {
    const Tensor inputs =
        shape.graph ? torch::cat({rows, torch::matmul(batch.adjacency, rows)}, -1) : rows;
    rows = torch::relu(Apply(name, inputs));
  }
  return shape.attention ? Attend(batch, rows) : rows;
}

Outputs Learner::Network::ForwardStacked(const Batch& batch) const {
  const Tensor all = Three("actor", batch.stacked).reshape({-1});
  const Tensor logits = all.index_select(0, batch.stacked_output);
  const Tensor empty = torch::full({batch.samples * batch.choices}, -1e9);
  Outputs outputs;
  outputs.logits =
      empty.scatter(0, batch.cell_position, logits).view({batch.samples, batch.choices});
  outputs.values = Three("critic", batch.stacked).view({-1});
  return outputs;
}

Outputs Learner::Network::Forward(const Batch& batch) const {
  const Tensor rows = Embed(batch);
  const Tensor counts = batch.node_mask.sum(1, true);
  const Tensor average = (rows * batch.node_mask.unsqueeze(-1)).sum(1) / counts;
  const Tensor flat = rows.reshape({batch.graphs * batch.nodes, kEmbedding});
  // The state: tiles, and what is placed on them.
  const Tensor sums = torch::zeros({batch.samples * batch.tiles, kEmbedding})
                          .index_add(0, batch.placed_rows, flat.index_select(0, batch.placed_nodes))
                          .view({batch.samples, batch.tiles, kEmbedding});
  const Tensor near = torch::bmm(batch.links.index_select(0, batch.graph_of), sums);
  const Tensor tiles =
      torch::relu(Apply("tile", torch::cat({sums, near, batch.tile_features}, -1)));
  const Tensor context = torch::relu(
      Apply("context", torch::cat({flat.index_select(0, batch.node_of),
                                   average.index_select(0, batch.graph_of), batch.global},
                                  -1)));
  // The first layer of the actor, from what cells, tiles and samples each contribute.
  const Tensor of_tile = Part("actor.1", tiles, kCellFeatures, kTileWidth)
                             .reshape({batch.samples * batch.tiles, kHidden});
  const Tensor of_sample =
      Part("actor.1", context, kCellFeatures + kTileWidth, kContext) + at("actor.1.bias");
  const Tensor hidden = torch::relu(Part("actor.1", batch.cells, 0, kCellFeatures) +
                                    of_tile.index_select(0, batch.cell_tile) +
                                    of_sample.index_select(0, batch.cell_sample));
  const Tensor logits = Apply("actor.3", torch::relu(Apply("actor.2", hidden))).view({-1});
  const Tensor empty = torch::full({batch.samples * batch.choices}, -1e9);
  Outputs outputs;
  outputs.logits =
      empty.scatter(0, batch.cell_position, logits).view({batch.samples, batch.choices});
  const Tensor mask = batch.tile_mask.index_select(0, batch.graph_of).unsqueeze(-1);
  const Tensor average_tile = (tiles * mask).sum(1) / mask.sum(1);
  outputs.values = Three("critic", torch::cat({context, average_tile}, -1)).view({-1});
  return outputs;
}

// The losses of the paper, equations 7 (clipped) and 9, with the signs of a minimisation.
Terms Learner::Network::TermsOf(const Batch& batch, const PpoOptions& options) const {
  const Outputs outputs = shape.stacked ? ForwardStacked(batch) : Forward(batch);
  const Tensor log_shares = torch::log_softmax(outputs.logits, -1);
  Terms terms;
  terms.log_probability = log_shares.gather(1, batch.choice.unsqueeze(-1)).view({-1});
  terms.values = outputs.values;
  const Tensor ratio = torch::exp(terms.log_probability - batch.log_probability);
  const Tensor clipped = torch::clamp(ratio, 1 - options.clip, 1 + options.clip);
  terms.policy = -torch::min(ratio * batch.advantage, clipped * batch.advantage).mean();
  terms.value = (outputs.values - batch.target).square().mean();
  terms.entropy = -(torch::exp(log_shares) * log_shares).sum(-1).mean();
  terms.change = (batch.log_probability - terms.log_probability).mean();
  return terms;
}

Learner::Learner(const TrainingState& state, int threads) : network_(std::make_unique<Network>()) {
  at::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, false);
  torch::manual_seed(0);  // nothing draws numbers; if something did, it would be the same ones
  network_->shape = state.weights.shape;
  const auto tensor = [](const Matrix& matrix) {
    return Floats(matrix.values, {matrix.rows, matrix.columns});
  };
  for (size_t i = 0; i < state.weights.matrices.size(); ++i) {
    const Matrix& matrix = state.weights.matrices[i];
    network_->names.push_back(matrix.name);
    network_->weights.push_back(tensor(matrix).set_requires_grad(true));
    const bool known = !state.first.empty();
    const Tensor none = torch::zeros({matrix.rows, matrix.columns});
    network_->first.push_back(known ? tensor(state.first[i]) : none);
    network_->second.push_back(known ? tensor(state.second[i]) : none.clone());
  }
  const auto updates = state.numbers.find("updates");
  if (updates != state.numbers.end()) network_->updates = updates->second;
}

Learner::~Learner() = default;

PpoLosses Learner::Losses(std::span<const Sample* const> samples, const PpoOptions& options,
                          std::vector<double>* log_probabilities,
                          std::vector<double>* values) const {
  const torch::NoGradGuard guard;
  const Terms terms = network_->TermsOf(BatchOf(samples, network_->shape.stacked), options);
  const auto copy = [&](const Tensor& from, std::vector<double>* to) {
    if (to == nullptr) return;
    to->clear();
    for (size_t i = 0; i < samples.size(); ++i) {
      to->push_back(from[static_cast<int64_t>(i)].item<double>());
    }
  };
  copy(terms.log_probability, log_probabilities);
  copy(terms.values, values);
  return NumbersOf(terms);
}

// One step of Adam (D. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", arXiv
// 1412.6980), written out so that its moments can be saved with the weights. The gradient is first
// scaled down to the norm `gradient_limit`.
PpoLosses Learner::Update(std::span<const Sample* const> samples, const PpoOptions& options) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kLeast = 1e-8;
  const Terms terms = network_->TermsOf(BatchOf(samples, network_->shape.stacked), options);
  const Tensor loss = terms.policy + options.value * terms.value - options.entropy * terms.entropy;
  for (Tensor& weight : network_->weights) weight.mutable_grad() = Tensor();
  loss.backward();
  const torch::NoGradGuard guard;
  double squares = 0;
  for (const Tensor& weight : network_->weights) {
    if (weight.grad().defined()) squares += weight.grad().square().sum().item<double>();
  }
  const double norm = std::sqrt(squares);
  const double scale = norm > options.gradient_limit ? options.gradient_limit / norm : 1;
  ++network_->updates;
  const auto count = static_cast<double>(network_->updates);
  const double of_first = 1 - std::pow(kFirst, count), of_second = 1 - std::pow(kSecond, count);
  for (size_t i = 0; i < network_->weights.size(); ++i) {
    const Tensor& weight = network_->weights[i];
    if (!weight.grad().defined()) continue;
    const Tensor gradient = weight.grad() * scale;
    Tensor& first = network_->first[i];
    Tensor& second = network_->second[i];
    first = first * kFirst + gradient * (1 - kFirst);
    second = second * kSecond + gradient.square() * (1 - kSecond);
    const Tensor step = (first / of_first) / ((second / of_second).sqrt() + kLeast);
    weight.sub_(step * options.rate);
  }
  return NumbersOf(terms);
}

void Learner::Save(TrainingState* state) const {
  const auto matrices = [&](const std::vector<Tensor>& tensors) {
    std::vector<Matrix> out;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor tensor = tensors[i].detach().contiguous();
      const float* values = tensor.data_ptr<float>();
      out.push_back({.name = network_->names[i],
                     .rows = static_cast<int>(tensor.size(0)),
                     .columns = static_cast<int>(tensor.size(1)),
                     .values = {values, values + tensor.numel()}});
    }
    return out;
  };
  state->weights = {.shape = network_->shape, .matrices = matrices(network_->weights)};
  state->first = matrices(network_->first);
  state->second = matrices(network_->second);
  state->numbers["updates"] = network_->updates;
}

}  // namespace kiln::cgra
