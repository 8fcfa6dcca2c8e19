// Any bytes as a message of a client (first byte even) or of the server. What is a message must
// survive being encoded again, and whatever it says may be refused, but must not do harm.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "polykern/core/error.h"
#include "polykern/net/wire.h"

namespace {

using namespace polykern;

void Require(bool holds) {
  if (!holds) std::abort();
}

ModelShape Shape() {
  ModelShape shape;
  shape.blocks = 6;
  shape.width = 2;
  shape.blocks_per_update = 3;
  shape.losses_per_update = 3;
  shape.loss_per_block = true;
  shape.most_norm = 100;
  return shape;
}

void UseClientMessage(std::string_view bytes) {
  const ClientMessage message = DecodeClientMessage(bytes);
  std::visit(
      [](const auto& m) {
        const std::string once = Encode(m);
        const ClientMessage again = DecodeClientMessage(once);
        Require(Encode(std::get<std::decay_t<decltype(m)>>(again)) == once);
      },
      message);
  if (const auto* updates = std::get_if<Updates>(&message)) CheckUpdates(Shape(), *updates);
}

void UseServerMessage(std::string_view bytes) {
  const ServerMessage message = DecodeServerMessage(bytes);
  const ModelChange* change = std::get_if<ModelChange>(&message);
  if (const auto* welcome = std::get_if<Welcome>(&message)) change = &welcome->model;
  if (change == nullptr) return;
  Broadcast broadcast;
  ApplyModel(Shape(), *change, broadcast);
  Require(broadcast.model.size() == Shape().model_size());
  ApplyModel(Shape(), *change, broadcast);  // and over an older one
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) {
      UseClientMessage(bytes);
    } else {
      UseServerMessage(bytes);
    }
  } catch (const Error&) {  // the answer to nonsense
  }
  return 0;
}
