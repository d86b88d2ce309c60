// Encodes a mapping: operands and delays, masters and links, literals and tile memories,
// deliveries and outputs.

#include "kiln/targets/cgra/isa/configure.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/graph/timing.h"
#include "kiln/targets/cgra/isa/tile_values.h"

namespace kiln::cgra {
namespace {

// What an operand of a node is.
struct Source {
  enum class Kind : uint8_t { kZero, kConstant, kMessage, kStored };
  Kind kind = Kind::kZero;
  int32_t constant = 0;  // kConstant
  int from = 0;          // kMessage: index of the instruction that sends it
  int distance = 0;      // kMessage
  int32_t initial = 0;   // kMessage with a distance
  int node = 0;          // kMessage, kStored: whose value it is
  friend bool operator==(const Source&, const Source&) = default;
};

// An instruction of the mapping and how hardware computes it.
struct Step {
  std::vector<int>
      nodes;  // one, or a multiplication and its sum; of a pass-through, what it copies
  bool is_pass = false;
  std::string name;
  Place place;
  MultiplyOp multiply = MultiplyOp::kPass;
  LogicOp logic = LogicOp::kPass;
  bool gated = false;
  std::array<Source, 3> in;
  uint32_t links = 0;
  int output = -1;
};

// What a tile memory keeps: a constant, or the value of an input or variable.
struct StoredKey {
  bool is_node = false;
  int32_t value = 0;  // the constant, or the node
  friend auto operator<=>(const StoredKey&, const StoredKey&) = default;
};

// The memories of one tile.
struct TileMemories {
  std::map<StoredKey, int> number;  // of each value
  std::vector<StoredKey> keys;
  std::vector<std::string> readers;  // by value: the first node that reads it
  std::vector<std::pair<int, int>> pairs;
  std::vector<MemorySet> sets;
  std::vector<std::array<int, 2>> addresses;  // by value and memory
};

std::optional<MultiplyOp> MultiplyOpOf(Op op) {
  switch (op) {
    case Op::kMul:
      return MultiplyOp::kMultiply;
    case Op::kShl:
      return MultiplyOp::kShiftLeft;
    case Op::kShr:
      return MultiplyOp::kShiftRight;
    case Op::kSra:
      return MultiplyOp::kShiftArithmetic;
    case Op::kFMul:
      return MultiplyOp::kFloatMultiply;
    default:
      return std::nullopt;
  }
}

// Returns the operation with m as operand `side` of the node and in3 as the other one.
std::optional<LogicOp> LogicOpOf(Op op, int side) {
  switch (op) {
    case Op::kAdd:
      return LogicOp::kAdd;
    case Op::kSub:
      return side == 0 ? LogicOp::kSubtract : LogicOp::kReverseSubtract;
    case Op::kAnd:
      return LogicOp::kAnd;
    case Op::kOr:
    case Op::kMerge:
      return LogicOp::kOr;
    case Op::kXor:
      return LogicOp::kXor;
    case Op::kMin:
      return LogicOp::kLeast;
    case Op::kMax:
      return LogicOp::kGreatest;
    case Op::kLt:
      return side == 0 ? LogicOp::kLess : LogicOp::kGreater;
    case Op::kEq:
      return LogicOp::kEqual;
    case Op::kFAdd:
      return LogicOp::kFloatAdd;
    case Op::kFSub:
      return side == 0 ? LogicOp::kFloatSubtract : LogicOp::kFloatReverseSubtract;
    case Op::kSelect:
      return LogicOp::kSelect;
    case Op::kPass:
      return LogicOp::kPass;
    default:
      return std::nullopt;
  }
}

// Builds a program in passes over the instructions (`Step`s): operands in the terms of the graph,
// then literals and stored values, then their memories and addresses, and at last the words. Links
// are collected on the way, because a consumer is what decides that its producer drives a link.
class Configurer {
 public:
  Configurer(const ComputationGraph& graph, const Mapping& mapping, const Config& config,
             const ConfigureOptions& options)
      : graph_(graph),
        mapping_(mapping),
        config_(config),
        options_(options),
        into_(graph.EdgesInto()),
        interval_(mapping.initiation_interval) {}

  StatusOr<CgraProgram> Build() {
    KILN_RETURN_IF_ERROR(CheckStreamMachine(config_));
    KILN_RETURN_IF_ERROR(CheckMapping());
    KILN_RETURN_IF_ERROR(AddSteps());
    for (Step& step : steps_) KILN_RETURN_IF_ERROR(AddOperands(&step));
    KILN_RETURN_IF_ERROR(AddOutputs());
    Begin();
    KILN_RETURN_IF_ERROR(ChooseLiterals());
    KILN_RETURN_IF_ERROR(PlaceValues());
    for (size_t s = 0; s < steps_.size(); ++s) KILN_RETURN_IF_ERROR(Emit(s));
    FillMemories();
    if (Status checked = Check(program_); !checked.ok()) {
      return WithContext(graph_.source.empty() ? graph_.name : graph_.source, checked);
    }
    return std::move(program_);
  }

 private:
  Status Error(const std::string& name, const std::string& fault, const std::string& remedy) const {
    return ErrorAt(graph_.source, fmt::format("node '{}'", name), fault, remedy);
  }
  const GraphNode& Node(int node) const { return graph_.nodes[static_cast<size_t>(node)]; }
  std::string NameOf(int node) const { return Excerpt(Node(node).name); }

  Status CheckMapping() const {
    const bool sizes = mapping_.places.size() == graph_.nodes.size() &&
                       mapping_.fused_into.size() == graph_.nodes.size() &&
                       mapping_.provider.size() == graph_.edges.size();
    if (!sizes || interval_ < 1) {
      return ErrorAt(graph_.source, "mapping", "it is not one of this graph",
                     "places for all of its nodes and an initiation interval of at least 1");
    }
    const auto passes = static_cast<int>(mapping_.passes.size());
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      const int pass = mapping_.provider[e];
      if (pass < -1 || pass >= passes ||
          (pass >= 0 &&
           mapping_.passes[static_cast<size_t>(pass)].node != graph_.edges[e].source)) {
        return ErrorAt(graph_.source, "mapping",
                       fmt::format("an edge from '{}' names pass-through {}",
                                   NameOf(graph_.edges[e].source), pass),
                       "-1 or a pass-through of this node");
      }
    }
    for (int i = 0; i < passes; ++i) {
      const PassThrough& pass = mapping_.passes[static_cast<size_t>(i)];
      if (pass.from < -1 || pass.from >= i || pass.node < 0 ||
          pass.node >= std::ssize(graph_.nodes) || !graph_.TakesSlot(pass.node)) {
        return ErrorAt(graph_.source, "mapping",
                       fmt::format("pass-through {} copies node {} from pass-through {}", i,
                                   pass.node, pass.from),
                       "an instruction's result, and pass-throughs in order");
      }
    }
    return OkStatus();
  }

  Status CheckNode(int node) const {
    const GraphNode& at = Node(node);
    const Role role = RowOf(at.op).role;
    if (role == Role::kMemory || role == Role::kControl) {
      return Error(NameOf(node),
                   fmt::format("'{}' has no place in a program on streams", RowOf(at.op).name),
                   "inputs and outputs instead of loads, stores and loop control");
    }
    if (IsFloat(at.op) && !config_.floats) {
      return Error(NameOf(node),
                   fmt::format("'{}' computes in binary32, which the machine's lanes do not",
                               RowOf(at.op).name),
                   "'floats: true' in the design point");
    }
    return OkStatus();
  }

  // Makes the instructions: their nodes, names and places.
  Status AddSteps() {
    of_node_.assign(graph_.nodes.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto node = static_cast<int>(n);
      if (!graph_.TakesSlot(node)) continue;
      KILN_RETURN_IF_ERROR(CheckNode(node));
      if (mapping_.fused_into[n] >= 0) continue;
      Step step;
      for (size_t m = 0; m < graph_.nodes.size(); ++m) {
        if (mapping_.fused_into[m] == node) step.nodes.push_back(static_cast<int>(m));
      }
      if (step.nodes.size() > 1) {
        return Error(NameOf(node), fmt::format("{} nodes are fused into it", step.nodes.size()),
                     "at most one multiplication or shift");
      }
      step.nodes.push_back(node);
      for (const int inside : step.nodes) {
        step.name += (step.name.empty() ? "" : "+") + NameOf(inside);
        of_node_[static_cast<size_t>(inside)] = static_cast<int>(steps_.size());
      }
      step.place = mapping_.places[n];
      steps_.push_back(std::move(step));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.TakesSlot(static_cast<int>(n)) && of_node_[n] < 0) {
        return Error(NameOf(static_cast<int>(n)), "it is fused into no instruction",
                     "an instruction, or a place of its own");
      }
    }
    first_pass_ = static_cast<int>(steps_.size());
    for (size_t i = 0; i < mapping_.passes.size(); ++i) {
      const PassThrough& pass = mapping_.passes[i];
      Step step{.nodes = {pass.node},
                .is_pass = true,
                .name = fmt::format("pass-through {} of {}", i + 1, NameOf(pass.node)),
                .place = pass.place,
                .in = {}};
      steps_.push_back(std::move(step));
    }
    std::map<std::pair<int, int>, std::string> cells;
    for (const Step& step : steps_) {
      if (step.place.tile < 0 || step.place.tile >= config_.tiles() || step.place.issue < 0) {
        return Error(step.name,
                     fmt::format("it is on tile {} in cycle {}", step.place.tile, step.place.issue),
                     fmt::format("a tile from 0 to {} and a cycle from 0", config_.tiles() - 1));
      }
      const int slot = step.place.issue % interval_;
      const auto [at, added] = cells.emplace(std::pair(step.place.tile, slot), step.name);
      if (!added) {
        return Error(step.name,
                     fmt::format("it shares slot {} of tile {} with '{}'", slot, step.place.tile,
                                 at->second),
                     "a slot for each");
      }
    }
    return OkStatus();
  }

  // Finds what an edge brings to an instruction.
  StatusOr<Source> SourceOf(const Step& step, int edge_number) const {
    const GraphEdge& edge = graph_.edges[static_cast<size_t>(edge_number)];
    const GraphNode& source = Node(edge.source);
    if (RowOf(source.op).role == Role::kValue) {
      const bool fixed = source.op != Op::kInput;
      if (edge.distance > 0 && (!fixed || edge.initial != source.literal.value_or(0))) {
        return Error(step.name,
                     fmt::format("it takes '{}' of an earlier thread from a tile memory",
                                 NameOf(edge.source)),
                     "a 'pass' node between them: messages go to later threads");
      }
      if (source.op != Op::kConst)
        return Source{.kind = Source::Kind::kStored, .node = edge.source};
      return ConstantOf(source.literal.value_or(0));
    }
    if (TimingOf(graph_, config_, edge) != EdgeTiming::kLink) {
      return Error(step.name,
                   fmt::format("the value of '{}' takes no fixed time", NameOf(edge.source)),
                   "'loops: synchronous' in the design point");
    }
    const int pass = mapping_.provider[static_cast<size_t>(edge_number)];
    if (pass < 0) KILN_RETURN_IF_ERROR(CheckResult(edge.source));
    return Source{
        .kind = Source::Kind::kMessage,
        .from = pass >= 0 ? first_pass_ + pass : of_node_[static_cast<size_t>(edge.source)],
        .distance = edge.distance,
        .initial = edge.distance > 0 ? edge.initial : 0,
        .node = edge.source};
  }

  // Checks that a node's value leaves its instruction.
  Status CheckResult(int node) const {
    const Step& step = steps_[static_cast<size_t>(of_node_[static_cast<size_t>(node)])];
    if (step.nodes.back() == node) return OkStatus();
    return Error(NameOf(node),
                 fmt::format("its value stays inside the instruction '{}'", step.name),
                 "an instruction of its own: it has several uses");
  }

  static Source ConstantOf(int32_t value) {
    if (value == 0) return {};
    return {.kind = Source::Kind::kConstant, .constant = value};
  }

  struct Operands {
    std::vector<Source> data;  // all operands of the operator
    std::optional<Source> predicate;
    int product = -1;  // the operand that `fused`, another node of the step, computes
  };

  StatusOr<Operands> OperandsOf(const Step& step, int node, int fused) const {
    const GraphNode& at = Node(node);
    Operands operands;
    const auto count = static_cast<size_t>(RowOf(at.op).operands);
    std::vector<std::optional<Source>> given(count);
    for (const int e : into_[static_cast<size_t>(node)]) {
      const GraphEdge& edge = graph_.edges[static_cast<size_t>(e)];
      if (edge.kind == EdgeKind::kOrder) continue;
      const auto operand = static_cast<size_t>(edge.operand);
      if (edge.kind == EdgeKind::kData && edge.distance == 0 && edge.source == fused) {
        operands.product = edge.operand;
        given[operand] = Source{};
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const Source source, SourceOf(step, e));
      if (edge.kind == EdgeKind::kData) {
        given[operand] = source;
      } else if (operands.predicate && !(*operands.predicate == source)) {
        return Error(step.name, "it has several predicates",
                     "one: an 'and' node of conditions that are 0 or 1");
      } else {
        operands.predicate = source;
      }
    }
    bool literal_used = false;
    for (std::optional<Source>& source : given) {
      if (!source) {
        source = at.literal && !literal_used ? ConstantOf(*at.literal) : Source{};
        literal_used = true;
      }
      operands.data.push_back(*source);
    }
    return operands;
  }

  Status AddOperands(Step* step) {
    if (step->is_pass) {
      const PassThrough& pass = PassOf(*step);
      if (pass.from < 0) KILN_RETURN_IF_ERROR(CheckResult(pass.node));
      step->in[0] = {.kind = Source::Kind::kMessage,
                     .from = pass.from >= 0 ? first_pass_ + pass.from
                                            : of_node_[static_cast<size_t>(pass.node)],
                     .node = pass.node};
      return OkStatus();
    }
    const int node = step->nodes.back();
    const int fused = step->nodes.size() > 1 ? step->nodes.front() : -1;
    KILN_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(*step, node, fused));
    if (fused < 0 && RowOf(Node(node).op).unit == Unit::kMultiply) {
      step->multiply = *MultiplyOpOf(Node(node).op);
      step->in = {operands.data[0], operands.data[1], Source{}};
      return AddGate(step, operands.predicate);
    }
    if (fused < 0) {
      step->logic = *LogicOpOf(Node(node).op, 0);
      step->in[0] = operands.data[0];
      if (step->logic == LogicOp::kSelect) step->in[1] = operands.data[1];
      if (operands.data.size() > 1) step->in[2] = operands.data.back();
      return AddGate(step, operands.predicate);
    }
    const std::optional<MultiplyOp> multiply = MultiplyOpOf(Node(fused).op);
    const std::optional<LogicOp> logic = LogicOpOf(Node(node).op, operands.product);
    if (!multiply || !logic || logic == LogicOp::kSelect || operands.product < 0) {
      return Error(step->name, "one instruction does not compute these together",
                   "a multiplication or shift, and a sum, comparison or bit operation of it");
    }
    KILN_ASSIGN_OR_RETURN(const Operands factors, OperandsOf(*step, fused, -1));
    if (factors.predicate) {
      return Error(step->name, "its product has a predicate of its own",
                   "a predicate of the node that ends the instruction");
    }
    step->multiply = *multiply;
    step->logic = *logic;
    step->in = {factors.data[0], factors.data[1], Source{}};
    if (operands.data.size() > 1) {
      step->in[2] = operands.data[static_cast<size_t>(1 - operands.product)];
    }
    return AddGate(step, operands.predicate);
  }

  const PassThrough& PassOf(const Step& step) const {
    return mapping_.passes[static_cast<size_t>(&step - steps_.data() - first_pass_)];
  }

  // Makes the result 0 where the predicate is 0. An instruction whose arithmetic/logic unit only
  // passes m uses the operation kGate with the predicate in in3. Any other gates by in2, which must
  // be free or be the predicate itself.
  Status AddGate(Step* step, const std::optional<Source>& predicate) const {
    if (!predicate) return OkStatus();
    if (step->logic == LogicOp::kPass) {
      step->logic = LogicOp::kGate;
      step->in[2] = *predicate;
      return OkStatus();
    }
    const bool in2_used = step->multiply != MultiplyOp::kPass || step->logic == LogicOp::kSelect;
    const bool commutes =
        step->multiply == MultiplyOp::kMultiply || step->multiply == MultiplyOp::kFloatMultiply;
    if (in2_used && commutes && step->in[0] == *predicate) std::swap(step->in[0], step->in[1]);
    if (in2_used && !(step->in[1] == *predicate)) {
      return Error(step->name, "its predicate finds no free operand: it uses all three",
                   "a node of its own for the predicate");
    }
    step->gated = true;
    step->in[1] = *predicate;
    return OkStatus();
  }

  Status AddOutputs() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (Node(static_cast<int>(n)).op != Op::kOutput) continue;
      const std::string name = NameOf(static_cast<int>(n));
      const auto number = static_cast<int>(program_.outputs.size());
      if (number >= config_.outputs) {
        return Error(
            name, fmt::format("it is output {} of a machine with {}", number + 1, config_.outputs),
            "more 'outputs' in the design point");
      }
      program_.outputs.push_back(Node(static_cast<int>(n)).name);
      int data = -1;
      for (const int e : into_[n]) {
        const EdgeKind kind = graph_.edges[static_cast<size_t>(e)].kind;
        if (kind == EdgeKind::kPredicate) {
          return Error(name, "an output has a predicate", "a 'pass' node with the predicate");
        }
        if (kind == EdgeKind::kData) data = e;
      }
      const GraphEdge* edge = data < 0 ? nullptr : &graph_.edges[static_cast<size_t>(data)];
      if (edge == nullptr || !graph_.TakesSlot(edge->source)) {
        return Error(name, "no instruction computes it", "a 'pass' node before it");
      }
      if (edge->distance > 0) {
        return Error(name, "it takes the value of an earlier thread", "a 'pass' node before it");
      }
      const int pass = mapping_.provider[static_cast<size_t>(data)];
      Step& step = steps_[static_cast<size_t>(
          pass >= 0 ? first_pass_ + pass : of_node_[static_cast<size_t>(edge->source)])];
      if (!step.is_pass) KILN_RETURN_IF_ERROR(CheckResult(edge->source));
      if (step.output >= 0) {
        return Error(name,
                     fmt::format("'{}' already goes to output '{}'", step.name,
                                 Excerpt(program_.outputs[static_cast<size_t>(step.output)])),
                     "a 'pass' node before one of them");
      }
      step.output = number;
    }
    if (program_.outputs.empty()) {
      return ErrorAt(graph_.source, "", "the graph has no output", "at least one");
    }
    return OkStatus();
  }

  void Begin() {
    program_.name = graph_.name;
    program_.config = config_;
    program_.interval = interval_;
    for (const Step& step : steps_) {
      program_.latency = std::max(program_.latency, step.place.issue + config_.pipeline_latency);
    }
    program_.output_issues.resize(program_.outputs.size());
    for (const Step& step : steps_) {
      if (step.output < 0) continue;
      program_.output_issues[static_cast<size_t>(step.output)] = step.place.issue;
    }
    for (const GraphNode& node : graph_.nodes) {
      if (node.op == Op::kInput) program_.inputs.push_back(node.name);
    }
    program_.tiles.resize(static_cast<size_t>(config_.tiles()));
    for (TileProgram& tile : program_.tiles) {
      tile.spokes.resize(static_cast<size_t>(interval_));
      tile.names.resize(static_cast<size_t>(interval_));
    }
    memories_.resize(static_cast<size_t>(config_.tiles()));
    literals_.assign(steps_.size(), std::nullopt);
  }

  // Decides each instruction's literal, and which values tile memories keep. The initial value of a
  // loop-carried operand takes the literal, because the machine reads it for a message that is not
  // valid; the first constant takes it otherwise. Two stored values of one instruction form a pair
  // that must be in different memories.
  Status ChooseLiterals() {
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      std::optional<int32_t>& literal = literals_[s];
      for (const Source& source : step.in) {
        if (source.kind != Source::Kind::kMessage || source.distance == 0) continue;
        if (literal && *literal != source.initial) {
          return Error(step.name,
                       fmt::format("first threads get {} and {} from '{}'", *literal,
                                   source.initial, NameOf(source.node)),
                       "one initial value for an instruction; a 'pass' node takes another");
        }
        literal = source.initial;
      }
      std::vector<int> stored;
      TileMemories& memories = memories_[static_cast<size_t>(step.place.tile)];
      for (const Source& source : step.in) {
        StoredKey key;
        if (source.kind == Source::Kind::kStored) {
          key = {.is_node = true, .value = source.node};
        } else if (source.kind == Source::Kind::kConstant) {
          if (!literal) literal = source.constant;
          if (*literal == source.constant) continue;
          key = {.is_node = false, .value = source.constant};
        } else {
          continue;
        }
        const auto [at, added] =
            memories.number.emplace(key, static_cast<int>(memories.keys.size()));
        if (added) {
          memories.keys.push_back(key);
          memories.readers.push_back(step.name);
        }
        if (std::ranges::find(stored, at->second) == stored.end()) stored.push_back(at->second);
      }
      if (stored.size() > 2) {
        return Error(step.name, fmt::format("it reads {} values from tile memories", stored.size()),
                     "at most two, one from each memory");
      }
      if (stored.size() == 2) memories.pairs.emplace_back(stored[0], stored[1]);
    }
    return OkStatus();
  }

  bool IsInput(const StoredKey& key) const {
    return key.is_node && Node(key.value).op == Op::kInput;
  }
  std::string NameOf(const StoredKey& key) const {
    return key.is_node ? Node(key.value).name : fmt::format("constant {}", key.value);
  }

  // Gives the values of each tile their memories and addresses. Inputs come first; each takes a
  // ring of `ring_entries` entries, one per thread.
  Status PlaceValues() {
    for (int tile = 0; tile < config_.tiles(); ++tile) {
      TileMemories& memories = memories_[static_cast<size_t>(tile)];
      std::vector<TileValue> values;
      values.reserve(memories.keys.size());
      for (const StoredKey& key : memories.keys) {
        values.push_back({IsInput(key) ? config_.ring_entries : 1, IsInput(key)});
      }
      memories.sets = DistributeValues(values, memories.pairs);
      memories.addresses.assign(values.size(), {0, 0});
      for (size_t memory = 0; memory < 2; ++memory) {
        int next = 0;
        for (const bool inputs : {true, false}) {
          for (size_t v = 0; v < values.size(); ++v) {
            if (!memories.sets[v][memory] || values[v].costly != inputs) continue;
            memories.addresses[v][memory] = next;
            next += values[v].entries;
            if (next <= config_.memory_depth) continue;
            return Error(memories.readers[v],
                         fmt::format("'{}' finds no space in memory {} of tile {}",
                                     Excerpt(NameOf(memories.keys[v])), memory, tile),
                         fmt::format("a greater 'memory_depth' (it is {}), or fewer "
                                     "'ring_entries' (they are {} for each input)",
                                     config_.memory_depth, config_.ring_entries));
          }
        }
      }
    }
    return OkStatus();
  }

  // Returns the memories from which an instruction reads the values, at most two different ones.
  static std::vector<size_t> MemoriesOf(const TileMemories& memories, std::span<const int> values) {
    const auto has = [&](int value, size_t memory) {
      return memories.sets[static_cast<size_t>(value)][memory];
    };
    if (values.empty()) return {};
    if (values.size() == 1) return {has(values[0], 0) ? size_t{0} : size_t{1}};
    if (has(values[0], 0) && has(values[1], 1)) return {0, 1};
    return {1, 0};
  }

  struct Wait {
    int line = 0, delay = 0;
  };
  // Returns by which line a message comes and how long it waits.
  StatusOr<Wait> WaitOf(const Step& step, const Source& source) const {
    const Step& from = steps_[static_cast<size_t>(source.from)];
    const int hops = HopCycles(config_, from.place.tile, step.place.tile);
    if (hops < 0) {
      return Error(
          step.name,
          fmt::format("'{}' is on tile {}, {} tiles away from tile {}", from.name, from.place.tile,
                      std::abs(from.place.tile - step.place.tile), step.place.tile),
          fmt::format("at most 'reach', {}, or pass-throughs", config_.reach));
    }
    if (from.place.tile == step.place.tile && !config_.feedback) {
      return Error(step.name, fmt::format("it uses the result of '{}' on its own tile", from.name),
                   "'feedback: true' in the design point");
    }
    const int arrival = from.place.issue + config_.pipeline_latency + hops;
    const int delay = step.place.issue + source.distance * interval_ - arrival;
    if (delay < 0) {
      return Error(
          step.name,
          fmt::format("the value of '{}' arrives {} cycles after its issue", from.name, -delay),
          "a later issue");
    }
    if (delay > config_.wait_limit) {
      return Error(step.name, fmt::format("the value of '{}' waits {} cycles", from.name, delay),
                   fmt::format("at most 'wait_limit', {}", config_.wait_limit));
    }
    return Wait{LineOf(config_, from.place.tile - step.place.tile), delay};
  }

  // Chooses the message that fires the instruction: of the messages of its own thread, the one that
  // waits least, then the one on the lowest line. Without such a message, `base` fires it in the
  // slot's first period, so it must issue before the interval ends.
  Status ChooseMaster(const Step& step, SpokeEntry* spoke) {
    std::optional<Wait> best;
    for (const Source& source : step.in) {
      if (source.kind != Source::Kind::kMessage || source.distance > 0) continue;
      KILN_ASSIGN_OR_RETURN(const Wait wait, WaitOf(step, source));
      if (!best || std::tie(wait.delay, wait.line) < std::tie(best->delay, best->line)) best = wait;
    }
    spoke->base = !best;
    if (best) {
      spoke->master_line = best->line;
      spoke->master_delay = best->delay;
    } else if (step.place.issue >= interval_) {
      return Error(step.name,
                   fmt::format("no message of its own thread starts it, and it issues in cycle {}",
                               step.place.issue),
                   fmt::format("a cycle from 0 to {}", interval_ - 1));
    }
    return OkStatus();
  }

  Status Emit(size_t number) {
    const Step& step = steps_[number];
    InstructionEntry entry{.multiply = step.multiply,
                           .logic = step.logic,
                           .gated = step.gated,
                           .literal = literals_[number].value_or(0)};
    SpokeEntry spoke{.valid = true, .output = step.output};
    KILN_RETURN_IF_ERROR(ChooseMaster(step, &spoke));
    const TileMemories& memories = memories_[static_cast<size_t>(step.place.tile)];
    std::array<int, 3> value = {-1, -1, -1};
    std::vector<int> stored;
    for (size_t i = 0; i < 3; ++i) {
      const Source& source = step.in[i];
      if (source.kind == Source::Kind::kStored) {
        value[i] = memories.number.at({.is_node = true, .value = source.node});
      } else if (source.kind == Source::Kind::kConstant && entry.literal != source.constant) {
        value[i] = memories.number.at({.is_node = false, .value = source.constant});
      }
      if (value[i] >= 0 && std::ranges::find(stored, value[i]) == stored.end()) {
        stored.push_back(value[i]);
      }
    }
    const std::vector<size_t> chosen = MemoriesOf(memories, stored);
    for (size_t i = 0; i < 3; ++i) {
      const Source& source = step.in[i];
      if (source.kind == Source::Kind::kMessage) {
        KILN_ASSIGN_OR_RETURN(const Wait wait, WaitOf(step, source));
        entry.in[i] = {OperandKind::kMessage, wait.line, wait.delay};
        Step& from = steps_[static_cast<size_t>(source.from)];
        if (from.place.tile != step.place.tile) {
          // Emitted spokes get their links at the end.
          from.links |= 1U << LineOf(config_, step.place.tile - from.place.tile);
        }
      } else if (value[i] >= 0) {
        const size_t memory =
            chosen[static_cast<size_t>(std::ranges::find(stored, value[i]) - stored.begin())];
        const auto at = static_cast<size_t>(value[i]);
        entry.in[i].kind = memory == 0 ? OperandKind::kMemory0 : OperandKind::kMemory1;
        entry.memory[memory] = {memories.addresses[at][memory], IsInput(memories.keys[at])};
      } else if (source.kind == Source::Kind::kConstant) {
        entry.in[i].kind = OperandKind::kLiteral;
      }
    }
    return AddEntry(step, entry, spoke);
  }

  // Adds the entries of an instruction to its tile.
  Status AddEntry(const Step& step, const InstructionEntry& entry, const SpokeEntry& spoke) {
    TileProgram& tile = program_.tiles[static_cast<size_t>(step.place.tile)];
    const auto slot = static_cast<size_t>(step.place.issue % interval_);
    auto at = std::ranges::find(tile.instructions, entry);
    if (at == tile.instructions.end()) {
      if (std::ssize(tile.instructions) >= config_.instruction_depth) {
        return Error(
            step.name, fmt::format("tile {} has no space for its instruction", step.place.tile),
            fmt::format("a greater 'instruction_depth' (it is {})", config_.instruction_depth));
      }
      tile.instructions.push_back(entry);
      at = std::prev(tile.instructions.end());
    }
    tile.spokes[slot] = spoke;
    tile.spokes[slot].instruction = static_cast<int>(at - tile.instructions.begin());
    tile.names[slot] = step.name;
    return OkStatus();
  }

  // Writes the links into the spoke entries, and turns stored values into contents (constants and
  // variables) and deliveries (inputs). An input that several tiles or both memories hold is one
  // beat with several deliveries.
  void FillMemories() {
    for (const Step& step : steps_) {
      program_.tiles[static_cast<size_t>(step.place.tile)]
          .spokes[static_cast<size_t>(step.place.issue % interval_)]
          .links = step.links;
    }
    std::map<int, std::vector<Delivery>> deliveries;  // by input node
    for (int tile = 0; tile < config_.tiles(); ++tile) {
      const TileMemories& memories = memories_[static_cast<size_t>(tile)];
      for (size_t v = 0; v < memories.keys.size(); ++v) {
        for (size_t memory = 0; memory < 2; ++memory) {
          if (!memories.sets[v][memory]) continue;
          const int address = memories.addresses[v][memory];
          const StoredKey& key = memories.keys[v];
          if (IsInput(key)) {
            deliveries[key.value].push_back({tile, static_cast<int>(memory), address, false});
          } else {
            program_.contents.push_back(
                {tile, static_cast<int>(memory), address, NameOf(key), LanesOf(key)});
          }
        }
      }
    }
    std::ranges::sort(program_.contents, {}, [](const MemoryContent& content) {
      return std::tuple(content.tile, content.memory, content.address);
    });
    int input = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].op != Op::kInput) continue;
      const auto at = deliveries.find(static_cast<int>(n));
      if (at != deliveries.end()) {
        for (size_t i = 0; i < at->second.size(); ++i) {
          at->second[i].same_beat = i > 0;
          program_.deliveries.push_back(at->second[i]);
        }
        program_.beats.push_back(input);
      }
      ++input;
    }
  }

  std::vector<int32_t> LanesOf(const StoredKey& key) const {
    const auto lanes = static_cast<size_t>(config_.lanes);
    if (!key.is_node) return std::vector<int32_t>(lanes, key.value);
    const GraphNode& node = Node(key.value);
    const auto at = options_.variables.find(node.name);
    if (at != options_.variables.end()) return at->second;
    return std::vector<int32_t>(lanes, node.literal.value_or(0));
  }

  const ComputationGraph& graph_;
  const Mapping& mapping_;
  const Config& config_;
  const ConfigureOptions& options_;
  const std::vector<std::vector<int>> into_;
  const int interval_;
  std::vector<Step> steps_;  // instructions of nodes, then pass-throughs
  std::vector<int> of_node_;
  int first_pass_ = 0;
  std::vector<std::optional<int32_t>> literals_;  // by step
  std::vector<TileMemories> memories_;            // by tile
  CgraProgram program_;
};

}  // namespace

StatusOr<CgraProgram> BuildConfiguration(const ComputationGraph& graph, const Mapping& mapping,
                                         const Config& config, const ConfigureOptions& options) {
  return Configurer(graph, mapping, config, options).Build();
}

}  // namespace kiln::cgra
