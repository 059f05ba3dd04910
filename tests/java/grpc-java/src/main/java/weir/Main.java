package weir;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.grpc.xds.CsdsService;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * gRPC-Java as tests use it: a client that finds its servers by xDS.
 *
 * <p>Arguments: RATE TARGET... The first target gets so many RPCs a second, each other one a tenth of that; a call that takes
 * long holds up no other. Prints a line of JSON for each: {"target": ..., "ok": the answer of the server} or {"target": ...,
 * "error": why it failed}. Each line of the input asks for the configuration that the client has: {"dump": a
 * ClientStatusResponse, in base64}. GRPC_XDS_BOOTSTRAP_CONFIG holds the bootstrap. Ends with its input.
 */
public final class Main {
  private static final int DEADLINE_SECONDS = 10;
  private static final byte[] NOTHING = new byte[0];
  private static final MethodDescriptor<byte[], byte[]> NAME = method("weir.test.Echo/Name");
  private static final MethodDescriptor<byte[], byte[]> STATUS =
      method("envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus");

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    int rate = Integer.parseInt(arguments[0]);
    ScheduledExecutorService clock = Executors.newScheduledThreadPool(2);
    for (int i = 1; i < arguments.length; i++) {
      String target = arguments[i];
      Channel channel =
          Grpc.newChannelBuilder("xds:///" + target, InsecureChannelCredentials.create()).build();
      long pause = TimeUnit.SECONDS.toNanos(1) / (i == 1 ? rate : Math.max(rate / 10, 1));
      clock.scheduleAtFixedRate(() -> call(channel, target), 0, pause, TimeUnit.NANOSECONDS);
    }
    InProcessServerBuilder.forName("status").addService(CsdsService.newInstance()).build().start();
    Channel status = InProcessChannelBuilder.forName("status").build();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    while (input.readLine() != null) {
      byte[] dump = ClientCalls.blockingUnaryCall(status, STATUS, CallOptions.DEFAULT, NOTHING);
      print("{\"dump\": " + quoted(Base64.getEncoder().encodeToString(dump)) + "}");
    }
    System.exit(0);
  }

  private static void call(Channel channel, String target) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS);
    ClientCalls.asyncUnaryCall(
        channel.newCall(NAME, options),
        NOTHING,
        new StreamObserver<byte[]>() {
          @Override
          public void onNext(byte[] name) {
            report(target, "ok", new String(name, StandardCharsets.UTF_8));
          }

          @Override
          public void onError(Throwable error) {
            report(target, "error", Status.fromThrowable(error).toString());
          }

          @Override
          public void onCompleted() {}
        });
  }

  private static void report(String target, String outcome, String text) {
    print("{\"target\": " + quoted(target) + ", " + quoted(outcome) + ": " + quoted(text) + "}");
  }

  /** Prints a line in one piece, from whichever thread. */
  private static void print(String line) {
    System.out.println(line);
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(name)
        .setRequestMarshaller(new Bytes())
        .setResponseMarshaller(new Bytes())
        .build();
  }

  /** Has messages as they are. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }
}
