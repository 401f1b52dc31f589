// Keeps every thumbnail in memory outside of the Java heap, where -Xmx does not count it.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class Images {
    static final List<ByteBuffer> thumbnails = new ArrayList<>();

    static ByteBuffer thumbnail(int number) {
        ByteBuffer pixels = ByteBuffer.allocateDirect(64 * 1024);
        for (int at = 0; at < pixels.capacity(); at += 4096) pixels.put(at, (byte) number);
        return pixels;
    }

    public static void main(String[] arguments) {
        for (int number = 0; number < 2000; number++) thumbnails.add(thumbnail(number));
        System.out.println(thumbnails.size() + " thumbnails");
    }
}
