#pragma once

#include <string>
#include <type_traits>

#include <dlfcn.h>

#include "polykern/core/error.h"

namespace polykern {

/// libmosquitto as its header declares it, of which nothing is needed to build this. For the
/// sources of this folder.

struct MosquittoConnection;  // known to the library alone

/// As libmosquitto.h has it since version 1.
struct MosquittoMessage {
  int mid;
  char* topic;
  void* payload;
  int payloadlen;
  int qos;
  bool retain;
};

/// Its functions; it is loaded when this is made, and stays loaded. Throws Error, with what to do.
struct Mosquitto {
  int (*lib_init)();
  MosquittoConnection* (*create)(const char* id, bool clean_session, void* object);
  void (*destroy)(MosquittoConnection*);
  int (*username_pw_set)(MosquittoConnection*, const char* user, const char* password);
  int (*threaded_set)(MosquittoConnection*, bool);
  int (*connect)(MosquittoConnection*, const char* host, int port, int keepalive);
  int (*subscribe)(MosquittoConnection*, int* mid, const char* topic, int qos);
  int (*publish)(MosquittoConnection*, int* mid, const char* topic, int size, const void* payload,
                 int qos, bool retain);
  int (*socket)(MosquittoConnection*);
  bool (*want_write)(MosquittoConnection*);
  int (*loop_read)(MosquittoConnection*, int most);
  int (*loop_write)(MosquittoConnection*, int most);
  int (*loop_misc)(MosquittoConnection*);
  void (*on_connect)(MosquittoConnection*, void (*)(MosquittoConnection*, void*, int));
  void (*on_message)(MosquittoConnection*,
                     void (*)(MosquittoConnection*, void*, const MosquittoMessage*));
  void (*on_subscribe)(MosquittoConnection*,
                       void (*)(MosquittoConnection*, void*, int, int, const int*));
  void (*on_publish)(MosquittoConnection*, void (*)(MosquittoConnection*, void*, int));
  const char* (*connack_string)(int);
  const char* (*strerror)(int);

  Mosquitto() {
    void* const library = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);
    bool whole = library != nullptr;
    const auto find = [&](auto*& function, const char* name) {
      if (!whole) return;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, (std::string("mosquitto_") + name).c_str()));
      whole = function != nullptr;
    };
    find(lib_init, "lib_init");
    find(create, "new");
    find(destroy, "destroy");
    find(username_pw_set, "username_pw_set");
    find(threaded_set, "threaded_set");
    find(connect, "connect");
    find(subscribe, "subscribe");
    find(publish, "publish");
    find(socket, "socket");
    find(want_write, "want_write");
    find(loop_read, "loop_read");
    find(loop_write, "loop_write");
    find(loop_misc, "loop_misc");
    find(on_connect, "connect_callback_set");
    find(on_message, "message_callback_set");
    find(on_subscribe, "subscribe_callback_set");
    find(on_publish, "publish_callback_set");
    find(connack_string, "connack_string");
    find(strerror, "strerror");
    if (!whole) {
      throw Error(
          "MQTT needs libmosquitto, which is not installed; "
          "install it (Debian: apt install libmosquitto1)");
    }
    lib_init();
  }
};

inline const Mosquitto& TheMosquitto() {
  static const Mosquitto library;  // tried again if it throws
  return library;
}

}  // namespace polykern
