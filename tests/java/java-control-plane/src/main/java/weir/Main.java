package weir;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.protobuf.TypeRegistry;
import com.google.protobuf.util.JsonFormat;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.envoyproxy.controlplane.cache.NodeGroup;
import io.envoyproxy.controlplane.cache.v3.SimpleCache;
import io.envoyproxy.controlplane.cache.v3.Snapshot;
import io.envoyproxy.controlplane.server.V3DiscoveryServer;
import io.envoyproxy.envoy.config.cluster.v3.Cluster;
import io.envoyproxy.envoy.config.endpoint.v3.ClusterLoadAssignment;
import io.envoyproxy.envoy.config.listener.v3.Listener;
import io.envoyproxy.envoy.config.route.v3.RouteConfiguration;
import io.envoyproxy.envoy.extensions.filters.http.router.v3.Router;
import io.envoyproxy.envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager;
import io.envoyproxy.envoy.extensions.upstreams.http.v3.HttpProtocolOptions;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A control plane made with the library java-control-plane, steered by tests over HTTP as the one in
 * {@code tests/go/go-control-plane} is: {@code PUT /resources?node=KEY}, {@code POST /start}, {@code POST /stop}. It
 * has the library's snapshot cache, with one version for all types of a snapshot.
 *
 * <p>Prints a line "listening" once the admin interface can be used.
 */
public final class Main {
  private static final TypeRegistry TYPES =
      TypeRegistry.newBuilder()
          .add(Cluster.getDescriptor())
          .add(ClusterLoadAssignment.getDescriptor())
          .add(Listener.getDescriptor())
          .add(RouteConfiguration.getDescriptor())
          .add(HttpConnectionManager.getDescriptor())
          .add(Router.getDescriptor())
          .add(HttpProtocolOptions.getDescriptor())
          .build();

  private final InetSocketAddress listen;
  private final SimpleCache<String> cache;
  private final V3DiscoveryServer xds;
  private Server running;
  private int version;

  private Main(InetSocketAddress listen, NodeGroup<String> groups) {
    this.listen = listen;
    this.cache = new SimpleCache<>(groups);
    this.xds = new V3DiscoveryServer(cache);
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i], arguments[i + 1]);
    }
    Main main = new Main(address(options.get("-listen")), groups(options.get("-hash")));
    HttpServer admin = HttpServer.create(address(options.get("-admin")), 0);
    admin.createContext("/resources", exchange -> answer(exchange, () -> main.publish(exchange)));
    admin.createContext("/start", exchange -> answer(exchange, main::start));
    admin.createContext("/stop", exchange -> answer(exchange, main::stop));
    admin.start();
    System.out.println("listening");
  }

  /** What distinguishes nodes: their id, their cluster or a key of their metadata. */
  private static NodeGroup<String> groups(String hash) {
    return switch (hash) {
      case "id" -> node -> node.getId();
      case "cluster" -> node -> node.getCluster();
      default -> node -> node.getMetadata().getFieldsOrThrow(hash).getStringValue();
    };
  }

  private static InetSocketAddress address(String text) {
    URI uri = URI.create("tcp://" + text);
    return new InetSocketAddress(uri.getHost(), uri.getPort());
  }

  private interface Action {
    void run() throws Exception;
  }

  private static void answer(HttpExchange exchange, Action action) throws IOException {
    int status = 200;
    byte[] body = new byte[0];
    try {
      action.run();
    } catch (Exception e) {
      status = 400;
      body = e.toString().getBytes(StandardCharsets.UTF_8);
    }
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    if (body.length > 0) {
      exchange.getResponseBody().write(body);
    }
    exchange.close();
  }

  private synchronized void publish(HttpExchange exchange) throws IOException {
    String node = exchange.getRequestURI().getQuery().substring("node=".length());
    JsonArray resources =
        JsonParser.parseReader(new InputStreamReader(exchange.getRequestBody(), StandardCharsets.UTF_8))
            .getAsJsonArray();
    List<Any> all = new ArrayList<>();
    for (var resource : resources) {
      Any.Builder any = Any.newBuilder();
      JsonFormat.parser().usingTypeRegistry(TYPES).merge(resource.toString(), any);
      all.add(any.build());
    }
    version++;
    cache.setSnapshot(
        node,
        Snapshot.create(
            of(all, Cluster.class),
            of(all, ClusterLoadAssignment.class),
            of(all, Listener.class),
            of(all, RouteConfiguration.class),
            List.of(),
            Integer.toString(version)));
  }

  private static <T extends Message> List<T> of(List<Any> all, Class<T> type) throws IOException {
    List<T> found = new ArrayList<>();
    for (Any any : all) {
      if (any.is(type)) {
        found.add(any.unpack(type));
      }
    }
    return found;
  }

  private synchronized void start() throws IOException {
    running =
        NettyServerBuilder.forAddress(listen)
            .addService(xds.getAggregatedDiscoveryServiceImpl())
            .addService(xds.getClusterDiscoveryServiceImpl())
            .addService(xds.getEndpointDiscoveryServiceImpl())
            .addService(xds.getListenerDiscoveryServiceImpl())
            .addService(xds.getRouteDiscoveryServiceImpl())
            .build()
            .start();
  }

  private synchronized void stop() throws InterruptedException {
    running.shutdownNow().awaitTermination();
  }
}
